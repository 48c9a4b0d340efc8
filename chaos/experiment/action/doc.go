// Package action has ready-made actions for the method of an experiment.
//
//	Method: []experiment.Activity{
//		{Name: "slow database",
//			Start: action.Arm(in, 0, chaos.Rule{Target: "db.*", Fault: fault.Delay(time.Second)})},
//		{Name: "shop cut off", Start: action.Partition(in, time.Minute, "db.*", "search"), Background: true},
//		{Name: "worker stalls", Start: action.Pause(worker, 0)},
//	}
//
// Each returns its own rollback: rules are removed, processes resume or
// restart. An action with a duration lasts that long and then reverts itself; run it in
// the background to do something else meanwhile. With the duration 0 it lasts until it
// is rolled back.
//
// [Arm] and [Partition] act within this process, on wrapped calls. [Kill] and [Pause]
// affect the processes that they are given.
package action
