"""Drives every method of the label service from the served discovery document with a client that nobody here wrote."""
import json
import sys
import urllib.request

import httplib2
from googleapiclient.discovery import build_from_document
from googleapiclient.errors import HttpError

origin = sys.argv[1]
document = urllib.request.urlopen(origin + "/discovery/labels/v2beta").read().decode()


class Authorized(httplib2.Http):
    def request(self, uri, method="GET", body=None, headers=None, **more):
        headers = dict(headers or {}, authorization="Bearer any-token")
        return super().request(uri, method=method, body=body, headers=headers, **more)


http = Authorized()
service = build_from_document(document, http=http)
called = []


def call(request):
    called.append(request.methodId)
    return request.execute()


labels, permissions = service.labels(), service.labels().permissions()
under = service.labels().revisions()
made = call(labels.create(body={"labelType": "SHARED", "properties": {"title": "From Python"}}))
name = made["name"]
edit = {"createField": {"field": {"properties": {"displayName": "Due"}, "dateOptions": {}}}}
call(labels.delta(name=name, body={"requests": [edit]}))
call(labels.publish(name=name, body={}))
call(labels.disable(name=name, body={}))
call(labels.enable(name=name, body={}))
call(labels.updateLabelCopyMode(name=name, body={"copyMode": "ALWAYS_COPY"}))
call(labels.updateLabelEnabledAppSettings(name=name, body={"enabledAppSettings": {"enabledApps": [{"app": "FILES"}]}}))
call(labels.get(name=name, view="LABEL_VIEW_FULL"))
call(labels.list(pageSize=1))
call(labels.locks().list(parent=name))
revision = name + "/revisions/latest"
call(under.locks().list(parent=revision))
for parent, where, rows in ((name, labels, permissions), (revision, under, under.permissions())):
    who = {"email": "reader@example.com", "role": "READER"}
    given = call(rows.create(parent=parent, body=who))
    call(where.updatePermissions(parent=parent, body=dict(who, role="APPLIER")))
    entry = {"labelPermission": {"email": "other@example.com", "role": "READER"}}
    both = call(rows.batchUpdate(parent=parent, body={"requests": [entry]}))
    call(rows.list(parent=parent))
    call(rows.delete(name=given["name"]))
    call(rows.batchDelete(parent=parent, body={"requests": [{"name": both["permissions"][0]["name"]}]}))
call(service.limits().getLabel())
call(service.users().getCapabilities(name="users/me/capabilities"))

answers = {}


def answered(request_id, response, error):
    answers[request_id] = response["properties"]["title"] if error is None else error.resp.status


batch = service.new_batch_http_request(callback=answered)
batch.add(labels.get(name=name), request_id="title")
batch.add(labels.get(name="labels/nothing"), request_id="missing")
batch.add(labels.create(body={"labelType": "SHARED", "properties": {"title": "In a batch"}}), request_id="made")
batch.execute(http=http)
call(labels.delete(name=name))
try:
    labels.get(name=name).execute()
except HttpError as error:
    answers["gone"] = error.resp.status
print(json.dumps({"called": sorted(set(called)), "answers": answers}))
