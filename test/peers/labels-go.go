// Drives every method of the label service with the client that Google's generator makes from the served discovery document.
package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"

	"google.golang.org/api/googleapi"
	labels "google.golang.org/api/labels/v2beta"
	"google.golang.org/api/option"
)

type authorized struct{}

func (authorized) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("authorization", "Bearer any-token")
	return http.DefaultTransport.RoundTrip(request)
}

var count int

func must(err error) {
	count++
	if err != nil {
		panic(err)
	}
}

func main() {
	client := &http.Client{Transport: authorized{}}
	service, err := labels.NewService(context.Background(), option.WithHTTPClient(client), option.WithEndpoint(os.Args[1]+"/"))
	if err != nil {
		panic(err)
	}
	made, err := service.Labels.Create(&labels.Label{LabelType: "SHARED", Properties: &labels.LabelProperties{Title: "From Go"}}).Do()
	must(err)
	name := made.Name
	field := &labels.Field{Properties: &labels.FieldProperties{DisplayName: "Due"}, DateOptions: &labels.FieldDateOptions{}}
	edit := &labels.DeltaUpdateLabelRequestRequest{CreateField: &labels.DeltaUpdateLabelRequestCreateFieldRequest{Field: field}}
	_, err = service.Labels.Delta(name, &labels.DeltaUpdateLabelRequest{Requests: []*labels.DeltaUpdateLabelRequestRequest{edit}}).Do()
	must(err)
	_, err = service.Labels.Publish(name, &labels.PublishLabelRequest{}).Do()
	must(err)
	_, err = service.Labels.Disable(name, &labels.DisableLabelRequest{}).Do()
	must(err)
	_, err = service.Labels.Enable(name, &labels.EnableLabelRequest{}).Do()
	must(err)
	_, err = service.Labels.UpdateLabelCopyMode(name, &labels.UpdateLabelCopyModeRequest{CopyMode: "ALWAYS_COPY"}).Do()
	must(err)
	apps := &labels.LabelEnabledAppSettings{EnabledApps: []*labels.LabelEnabledAppSettingsEnabledApp{{App: "FILES"}}}
	_, err = service.Labels.UpdateLabelEnabledAppSettings(name, &labels.UpdateLabelEnabledAppSettingsRequest{EnabledAppSettings: apps}).Do()
	must(err)
	full, err := service.Labels.Get(name).View("LABEL_VIEW_FULL").Do()
	must(err)
	pages := 0
	must(service.Labels.List().PageSize(1).Pages(context.Background(), func(*labels.ListLabelsResponse) error { pages++; return nil }))
	_, err = service.Labels.Locks.List(name).Do()
	must(err)
	revision := name + "/revisions/latest"
	_, err = service.Labels.Revisions.Locks.List(revision).Do()
	must(err)
	who := &labels.LabelPermission{Email: "reader@example.com", Role: "READER"}
	more := &labels.LabelPermission{Email: "reader@example.com", Role: "APPLIER"}
	other := &labels.BatchUpdateLabelPermissionsRequest{Requests: []*labels.UpdateLabelPermissionRequest{{LabelPermission: &labels.LabelPermission{Email: "other@example.com", Role: "READER"}}}}

	given, err := service.Labels.Permissions.Create(name, who).Do()
	must(err)
	_, err = service.Labels.UpdatePermissions(name, more).Do()
	must(err)
	both, err := service.Labels.Permissions.BatchUpdate(name, other).Do()
	must(err)
	_, err = service.Labels.Permissions.List(name).Do()
	must(err)
	_, err = service.Labels.Permissions.Delete(given.Name).Do()
	must(err)
	gone := &labels.BatchDeleteLabelPermissionsRequest{Requests: []*labels.DeleteLabelPermissionRequest{{Name: both.Permissions[0].Name}}}
	_, err = service.Labels.Permissions.BatchDelete(name, gone).Do()
	must(err)

	given, err = service.Labels.Revisions.Permissions.Create(revision, who).Do()
	must(err)
	_, err = service.Labels.Revisions.UpdatePermissions(revision, more).Do()
	must(err)
	both, err = service.Labels.Revisions.Permissions.BatchUpdate(revision, other).Do()
	must(err)
	_, err = service.Labels.Revisions.Permissions.List(revision).Do()
	must(err)
	_, err = service.Labels.Revisions.Permissions.Delete(given.Name).Do()
	must(err)
	gone = &labels.BatchDeleteLabelPermissionsRequest{Requests: []*labels.DeleteLabelPermissionRequest{{Name: both.Permissions[0].Name}}}
	_, err = service.Labels.Revisions.Permissions.BatchDelete(revision, gone).Do()
	must(err)

	_, err = service.Limits.GetLabel().Do()
	must(err)
	_, err = service.Users.GetCapabilities("users/me/capabilities").Do()
	must(err)
	_, err = service.Labels.Delete(name).Do()
	must(err)
	_, err = service.Labels.Get(name).Do()
	status := 0
	if refused, ok := err.(*googleapi.Error); ok {
		status = refused.Code
	}
	out, _ := json.Marshal(map[string]any{"calls": count, "title": full.Properties.Title, "fields": len(full.Fields), "pages": pages, "gone": status})
	os.Stdout.Write(append(out, '\n'))
}
