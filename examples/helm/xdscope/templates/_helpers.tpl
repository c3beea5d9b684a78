{{/* Names and labels. To try the chart: see Chart.yaml. */}}
{{- define "xdscope.name" -}}
{{- printf "%s-xdscope" .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- end }}

{{- define "xdscope.selector" -}}
app.kubernetes.io/name: xdscope
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "xdscope.labels" -}}
{{ include "xdscope.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}
