// Package action has ready-made actions for the method of an experiment.
//
//	Method: []experiment.Activity{
//		{Name: "slow database",
//			Start: action.Arm(in, 0, chaos.Rule{Target: "db.*", Fault: fault.Delay(time.Second)})},
//		{Name: "shop cut off", Background: true, Start: action.Arm(in, time.Minute,
//			chaos.Rule{Target: "{db.*,search}", Group: "shop", Fault: fault.Partition()})},
//		{Name: "worker dies", Start: func(context.Context) (any, experiment.Undo, error) {
//			return nil, startWorker, worker.Process.Kill() // a function of your own is an action too
//		}},
//	}
//
// Each returns its own rollback. An action with a duration lasts that long and then
// reverts itself; run it in the background to do something else meanwhile. With the
// duration 0 it lasts until it is rolled back.
package action
