package gameday_test

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/shakedown-go/shakedown/chaos/experiment"
	"github.com/shakedown-go/shakedown/chaos/experiment/gameday"
)

func check(name string, act error) *experiment.Experiment {
	fine := func(context.Context) (any, error) { return true, nil }
	return &experiment.Experiment{
		Name:       name,
		Hypothesis: &experiment.Hypothesis{Probes: []experiment.Activity{{Name: "all is well", Run: fine}}},
		Method: []experiment.Activity{{Name: "act", Start: func(context.Context) (any, experiment.Undo, error) {
			return nil, func(context.Context) error { return nil }, act
		}}},
	}
}

func Example() {
	lab := gameday.NewLab(nil)
	err := lab.Register(check("slow database", nil), check("lost cache", nil), check("dead worker", errors.New("no such process")))
	if err != nil {
		fmt.Println(err)
	}

	for _, name := range lab.Names() {
		result, err := lab.Run(context.Background(), name, false)
		if err != nil {
			fmt.Println(err)
			return
		}
		problem := "no problem"
		if result.Error != nil {
			problem = *result.Error
		}
		fmt.Println(name, result.Success, problem)
	}
	runs, rate := lab.History().SuccessRate("")
	fmt.Println(runs, "runs, success rate", rate)
	// Output:
	// dead worker true Action failed: no such process
	// lost cache true no problem
	// slow database true no problem
	// 3 runs, success rate 1
}

func ExampleOpenHistory() {
	dir, _ := os.MkdirTemp("", "history")
	defer os.RemoveAll(dir)
	for range 2 { // as if the program had been started twice
		history, err := gameday.OpenHistory(dir+"/history.json", 100)
		if err != nil {
			fmt.Println(err)
			return
		}
		_ = history.Add(experiment.Result{Name: "slow database", Success: true})
		fmt.Println(len(history.Results("slow database")))
	}
	// Output:
	// 1
	// 2
}
