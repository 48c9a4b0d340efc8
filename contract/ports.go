package contract

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/shakedown-go/shakedown/chaos"
	"github.com/shakedown-go/shakedown/internal/loopback"
)

// firstChosen is the least port that a system chooses for a server by itself.
const firstChosen = 32768

// chosenPorts returns the hosts of a run's calls on this machine, if there are several
// and the system chose a port among them. Then the draws of the calls are others in
// each run: of one port they do not depend.
func chosenPorts(targets []string) []string {
	var hosts, ports []string
	chosen := false
	for _, target := range targets {
		before, port, _, ok := loopback.Cut(target)
		if !ok || slices.Contains(ports, port) {
			continue
		}
		_, host, _ := strings.Cut(before, " ")
		hosts, ports = append(hosts, host+":"+port), append(ports, port)
		n, err := strconv.Atoi(port)
		chosen = chosen || err == nil && n >= firstChosen
	}
	if len(ports) < 2 || !chosen {
		return nil
	}
	return hosts
}

// hosts is [chosenPorts] of a scenario with rules.
func (s *compiledScenario) hosts(in *chaos.Injector) []string {
	if len(s.Rules) == 0 {
		return nil
	}
	return chosenPorts(in.Targets())
}

// addHosts warns once, of the first cell.
func (c *collector) addHosts(hosts []string, cell Cell) {
	if len(hosts) == 0 || c.warnedOfHosts {
		return
	}
	c.warnedOfHosts = true
	c.warn(fmt.Sprintf("The names of injection points hold ports that change from run to run, and what is drawn for them changes too: "+
		"in %v the calls went to %s. Give each server a name (chaoshttp.Options.Name).", cell, strings.Join(hosts, " and ")))
}
