package tools

import (
	"bytes"
	"os"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"
)

const manifests = "../../docs/ci/kubernetes.yml"

// decode reads a document into Kubernetes' own type, in which a member of an unknown name is an error.
func decode(document []byte) (object any, err error) {
	var kind struct{ Kind string }
	if err := yaml.Unmarshal(document, &kind); err != nil {
		return nil, err
	}
	if object = new(batchv1.Job); kind.Kind == "Deployment" {
		object = new(appsv1.Deployment)
	}
	return object, yaml.UnmarshalStrict(document, object)
}

func TestManifestsForKubernetes(t *testing.T) {
	text, err := os.ReadFile(manifests)
	if err != nil {
		t.Fatal(err)
	}
	var jobs []*batchv1.Job
	workers := 0
	for document := range bytes.SplitSeq(text, []byte("\n---\n")) {
		object, err := decode(document)
		if err != nil {
			t.Fatal(err)
		}
		switch object := object.(type) {
		case *batchv1.Job:
			jobs = append(jobs, object)
		case *appsv1.Deployment:
			workers++
			selected, labels := object.Spec.Selector.MatchLabels["app"], object.Spec.Template.Labels["app"]
			if selected == "" || selected != labels {
				t.Errorf("the deployment selects %q of pods labelled %q", selected, labels)
			}
		}
	}
	if len(jobs) != 2 || workers != 1 {
		t.Fatalf("%d jobs and %d deployments", len(jobs), workers)
	}
	shards := jobs[0].Spec
	if *shards.CompletionMode != batchv1.IndexedCompletion || *shards.Completions != *shards.Parallelism || *shards.Completions != *shards.MaxFailedIndexes {
		t.Error("a shard of its own for each index, none of which ends the others")
	}
	retried := shards.PodFailurePolicy.Rules[1].OnExitCodes
	if retried.Operator != batchv1.PodFailurePolicyOnExitCodesOpNotIn || retried.Values[0] != 4 || *retried.ContainerName != shards.Template.Spec.Containers[0].Name {
		t.Error("status 4 alone, and killed pods, are tried again")
	}
	for _, wrong := range [][2]string{{"completionMode:", "completionmodes:"}, {"onExitCodes:", "exitCodes:"}, {"replicas: 8", "replica: 8"}, {"env:", "environment:"}} {
		broken := false
		for document := range strings.SplitSeq(strings.Replace(string(text), wrong[0], wrong[1], 1), "\n---\n") {
			_, err := decode([]byte(document))
			broken = broken || err != nil
		}
		if !broken {
			t.Errorf("%s is not in the schema", wrong[1])
		}
	}
}
