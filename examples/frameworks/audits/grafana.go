package main

import (
	"fmt"
	"maps"
	"strconv"
)

// grafana plays endpoints of Grafana's legacy HTTP API, and of its incident plugin. What of them decides a verdict is
// documented so:
//
//   - since Grafana 11.3 names of dashboards and folders need not be unique (the release notice of grafana/grafana 90687);
//     a dashboard without uid and id that is saved again is another one (grafana/grafana 105077), a folder whose uid
//     exists is not made again (grafana.com/docs/grafana/latest/developer-resources/api-reference/http-api/folder)
//   - a silence that has no id is a new one (prometheus/alertmanager 3229); an alert rule whose title is taken in its
//     folder is refused (grafana/grafana 107804)
//   - annotations, snapshots, incidents and their activities are made anew by each request: their endpoints have no
//     idempotency key
//
// The versions of a dashboard and what an incident notes of its changes are not played.
func grafana() *backend {
	var state struct {
		Dashboards                                       []doc
		Folders, Annotations, Snapshots, Rules, Silences []doc
		Incidents, Activities                            []doc
	}
	b := newBackend(func() {
		state.Dashboards = []doc{{"uid": "demo", "title": "Demo", "panels": []any{doc{"title": "first"}}}}
		state.Folders, state.Rules = []doc{{"uid": "home", "title": "Home"}}, []doc{}
		state.Annotations = []doc{{"text": "deployed"}}
		state.Incidents = []doc{{"title": "it is down", "status": "active"}}
		state.Snapshots, state.Silences, state.Activities = []doc{}, []doc{}, []doc{}
	}, func() any { return state })

	// create adds what the request has, and answers with what is made of its number.
	create := func(list *[]doc, status int, answer func(n int, of doc) doc) func(*request) (int, any) {
		return func(r *request) (int, any) {
			*list = append(*list, r.body)
			return status, answer(len(*list), r.body)
		}
	}
	// unless refuses a request that has what an element of the list has under a name.
	unless := func(list *[]doc, name string, status int, message string, work func(*request) (int, any)) func(*request) (int, any) {
		return func(r *request) (int, any) {
			for _, is := range *list {
				if r.text(name) != "" && is[name] == r.text(name) {
					return refuse(status, message)
				}
			}
			return work(r)
		}
	}
	b.on("GET /api/dashboards/uid/{uid}", func(r *request) (int, any) {
		for _, d := range state.Dashboards {
			if d["uid"] == r.PathValue("uid") {
				return 200, doc{"dashboard": d, "meta": doc{"folderUid": ""}}
			}
		}
		return refuse(404, "Dashboard not found")
	})
	b.on("POST /api/dashboards/db", func(r *request) (int, any) {
		saved, _ := r.body["dashboard"].(map[string]any)
		answer := doc{"id": 1, "uid": saved["uid"], "url": "/d/x", "status": "success", "version": 1, "slug": "x", "title": "x"}
		for i, d := range state.Dashboards {
			if saved["uid"] != nil && d["uid"] == saved["uid"] {
				if r.body["overwrite"] != true {
					return 412, doc{"status": "version-mismatch", "message": "The dashboard has been changed by someone else"}
				}
				state.Dashboards[i] = saved
				return 200, answer
			}
		}
		state.Dashboards = append(state.Dashboards, saved)
		if saved["uid"] == nil {
			answer["uid"] = fmt.Sprintf("made-%d", len(state.Dashboards))
		}
		return 200, answer
	})
	b.on("POST /api/folders", unless(&state.Folders, "uid", 409, "Folder already exists",
		create(&state.Folders, 200, func(n int, of doc) doc { return doc{"id": n, "uid": fmt.Sprint(n), "title": of["title"]} })))
	b.on("POST /api/annotations", create(&state.Annotations, 200, func(n int, _ doc) doc {
		return doc{"id": n, "message": "Annotation added"}
	}))
	b.on("PATCH /api/annotations/{id}", func(r *request) (int, any) {
		n, err := strconv.Atoi(r.PathValue("id"))
		if err != nil || n < 1 || n > len(state.Annotations) {
			return refuse(404, "Annotation not found")
		}
		maps.Copy(state.Annotations[n-1], r.body)
		return 200, doc{"message": "Annotation patched"}
	})
	b.on("POST /api/snapshots", create(&state.Snapshots, 200, func(n int, _ doc) doc {
		return doc{"id": n, "key": fmt.Sprint(n), "deleteKey": fmt.Sprint(n), "url": "/dashboard/snapshot/1", "deleteUrl": "/api/1"}
	}))
	b.on("POST /api/v1/provisioning/alert-rules", unless(&state.Rules, "title", 400,
		"[alerting.alert-rule.conflict] rule title under the same organisation and folder should be unique",
		create(&state.Rules, 201, func(n int, of doc) doc {
			answer := maps.Clone(of)
			answer["id"], answer["uid"] = n, fmt.Sprint(n)
			return answer
		})))
	b.on("POST /api/alertmanager/grafana/api/v2/silences", create(&state.Silences, 202, func(n int, _ doc) doc {
		return doc{"silenceID": fmt.Sprint(n)}
	}))
	const incidents = "/api/plugins/grafana-irm-app/resources/api/v1/"
	b.on("POST "+incidents+"IncidentsService.CreateIncident", create(&state.Incidents, 200, func(n int, of doc) doc {
		return doc{"incident": doc{"incidentID": fmt.Sprint(n), "title": of["title"], "status": "active"}}
	}))
	b.on("POST "+incidents+"ActivityService.AddActivity", create(&state.Activities, 200, func(n int, of doc) doc {
		return doc{"activityItem": doc{"activityItemID": fmt.Sprint(n), "body": of["body"]}}
	}))
	b.on("POST "+incidents+"IncidentsService.UpdateTitle", func(r *request) (int, any) {
		state.Incidents[0]["title"] = r.text("title")
		return 200, doc{"incident": doc{"incidentID": "1", "title": r.text("title"), "status": "active"}}
	})
	return b
}
