package settings

import (
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shakedown-go/shakedown/mcpadapter/incident"
)

// The functions here make setters: they put a text in its place, or say what
// is allowed instead.

type setter = func(s *Settings, value string) (allowed string)

func anyText(at func(*Settings) *string) setter {
	return func(s *Settings, value string) string { *at(s) = value; return "" }
}

func hidden(at func(*Settings) *Secret) setter {
	return func(s *Settings, value string) string { *at(s) = Secret(value); return "" }
}

func filled(at func(*Settings) *string) setter {
	return func(s *Settings, value string) string {
		*at(s) = value
		if strings.TrimSpace(value) == "" {
			return "a text"
		}
		return ""
	}
}

func httpURL(at func(*Settings) *string) setter {
	return func(s *Settings, value string) string {
		*at(s) = value
		if u, err := url.Parse(value); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return "an http or https URL"
		}
		return ""
	}
}

func oneOf(at func(*Settings) *string, allowed ...string) setter {
	return func(s *Settings, value string) string {
		*at(s) = strings.ToLower(strings.TrimSpace(value))
		if !slices.Contains(allowed, *at(s)) {
			return strings.Join(allowed, "|")
		}
		return ""
	}
}

func number(at func(*Settings) *int, most int) setter {
	return func(s *Settings, value string) string {
		n, err := strconv.Atoi(value)
		if *at(s) = n; err != nil || n < 1 || n > most {
			return fmt.Sprintf("a whole number from 1 to %d", most)
		}
		return ""
	}
}

func seconds(at func(*Settings) *time.Duration) setter {
	return secondsBetween(at, 1, 7*24*3600)
}

func secondsOrNone(at func(*Settings) *time.Duration) setter {
	return secondsBetween(at, 0, 10*365*24*3600)
}

func secondsBetween(at func(*Settings) *time.Duration, least, most int) setter {
	return func(s *Settings, value string) string {
		n, err := strconv.Atoi(value)
		if *at(s) = time.Duration(n) * time.Second; err != nil || n < least || n > most {
			return fmt.Sprintf("seconds, a whole number from %d to %d", least, most)
		}
		return ""
	}
}

func address(at func(*Settings) *string) setter {
	return func(s *Settings, value string) string {
		*at(s) = value
		if _, _, err := net.SplitHostPort(value); value != "" && err != nil {
			return "host:port, such as 127.0.0.1:9090"
		}
		return ""
	}
}

func setSeverity(s *Settings, value string) string {
	severity, err := incident.ParseSeverity(value)
	if s.MinSeverity = severity; err != nil {
		return "info|warning|error|critical"
	}
	return ""
}

func setLevel(s *Settings, value string) string {
	if s.LogLevel.UnmarshalText([]byte(value)) != nil {
		return "debug|info|warn|error"
	}
	return ""
}
