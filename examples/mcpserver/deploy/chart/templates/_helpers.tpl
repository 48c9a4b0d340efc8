{{- define "order-desk-mcp.labels" -}}
app.kubernetes.io/name: {{ .Chart.Name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "order-desk-mcp.name" -}}
{{- printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* The names under which clients may reach the server: those of its service first. */}}
{{- define "order-desk-mcp.hosts" -}}
{{- $name := include "order-desk-mcp.name" . -}}
{{- $own := list $name (printf "%s.%s" $name .Release.Namespace) (printf "%s.%s.svc" $name .Release.Namespace) (printf "%s.%s.svc.cluster.local" $name .Release.Namespace) "localhost" "127.0.0.1" -}}
{{- concat $own .Values.hosts | join "," }}
{{- end }}
