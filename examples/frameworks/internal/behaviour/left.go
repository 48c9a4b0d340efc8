package behaviour

import (
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing/synctest"
	"time"
)

// settle is how long goroutines have to end.
const settle = time.Second

// left names the goroutines that are there and were not before, by what started them.
func (a *asking) left(before map[string]string) (names []string) {
	time.Sleep(settle)
	if a.f.RealTime == "" {
		synctest.Wait()
	}
	for number, starter := range a.goroutines() {
		if _, ok := before[number]; !ok {
			names = append(names, starter)
		}
	}
	slices.Sort(names)
	return names
}

var (
	headPattern    = regexp.MustCompile(`^goroutine (\d+) (?:gp=\S+ m=\S+ (?:mp=\S+ )?)?\[([^\]]*)\]`)
	bubblePattern  = regexp.MustCompile(`, synctest bubble (\d+)\b`)
	createdPattern = regexp.MustCompile(`(?m)^created by (\S+)`)
)

// goroutines are those of the caller's bubble, or all outside of one, with what started each; not the caller's.
func (a *asking) goroutines() map[string]string {
	buffer := make([]byte, 8<<20)
	traces := strings.Split(string(buffer[:runtime.Stack(buffer, true)]), "\n\n")
	bubble, all := "", map[string]string{}
	for i, trace := range traces {
		head := headPattern.FindStringSubmatch(trace)
		if head == nil {
			continue
		}
		in := ""
		if m := bubblePattern.FindStringSubmatch(head[2]); m != nil {
			in = m[1]
		}
		if i == 0 { // the caller's
			bubble = in
			continue
		}
		if a.f.RealTime == "" && in != bubble {
			continue
		}
		starter := "the runtime"
		if m := createdPattern.FindStringSubmatch(trace); m != nil {
			starter = m[1]
		}
		all[head[1]] = starter
	}
	return all
}
