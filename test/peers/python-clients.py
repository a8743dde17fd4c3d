"""Clients of Debian's Python packages at the embedded server: prints an address to sign in at, reads where the browser ended."""

import base64
import hashlib
import json
import os
import secrets
import sys

os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"
os.environ["OAUTHLIB_RELAX_TOKEN_SCOPE"] = "1"
import requests

given = json.loads(sys.stdin.readline())
origin, client, secret, scope = given["origin"], given["client"], given["secret"], given["scope"]
authorize, token_url, revoke_url = origin + "/o/oauth2/v2/auth", origin + "/token", origin + "/revoke"
channels = origin + "/media/v3/channels?part=id&mine=true"
verifier = secrets.token_urlsafe(48)
challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()
pkce = {"code_challenge": challenge, "code_challenge_method": "S256"}


def say(**fields):
    print(json.dumps(fields), flush=True)


def browse(url):
    say(open=url)
    return json.loads(sys.stdin.readline())["at"]


def requests_oauthlib():
    from requests_oauthlib import OAuth2Session

    session = OAuth2Session(client, redirect_uri=given["redirect"], scope=scope)
    url, _state = session.authorization_url(authorize, **pkce)
    session.fetch_token(
        token_url,
        authorization_response=browse(url),
        include_client_id=True,
        client_secret=secret,
        code_verifier=verifier,
    )
    before = session.get(channels).status_code
    session.refresh_token(token_url, client_id=client, client_secret=secret)
    after = session.get(channels).status_code
    revoked = requests.post(revoke_url, data={"token": session.token["refresh_token"]}).status_code
    return [before, after, revoked, session.get(channels).status_code]


def authlib():
    from authlib.integrations.requests_client import OAuth2Session

    session = OAuth2Session(
        client, secret, redirect_uri=given["redirect"], scope=scope, code_challenge_method="S256"
    )
    url, _state = session.create_authorization_url(authorize, code_verifier=verifier)
    session.fetch_token(token_url, authorization_response=browse(url), code_verifier=verifier)
    before = session.get(channels).status_code
    session.refresh_token(token_url)
    after = session.get(channels).status_code
    revoked = session.revoke_token(revoke_url, token=session.token["refresh_token"]).status_code
    return [before, after, revoked, session.get(channels).status_code]


def google_auth():
    from google.auth.transport.requests import AuthorizedSession, Request
    from google.auth.exceptions import RefreshError
    from google_auth_oauthlib.flow import Flow

    config = {"client_id": client, "client_secret": secret, "auth_uri": authorize, "token_uri": token_url}
    flow = Flow.from_client_config({"installed": config}, scope.split(), redirect_uri=given["redirect"])
    url, _state = flow.authorization_url(access_type="offline", **pkce)
    flow.fetch_token(authorization_response=browse(url), code_verifier=verifier)
    before = flow.authorized_session().get(channels).status_code
    credentials = flow.credentials
    credentials.refresh(Request())
    after = AuthorizedSession(credentials).get(channels).status_code
    revoked = requests.post(revoke_url, params={"token": credentials.token}).status_code
    try:
        credentials.refresh(Request())
        ended = 200
    except RefreshError:
        ended = 401
    return [before, after, revoked, ended]


def google_service_account():
    from google.auth.transport.requests import AuthorizedSession
    from google.oauth2.service_account import Credentials

    credentials = Credentials.from_service_account_info(given["key"], scopes=scope.split())
    return [AuthorizedSession(credentials).get(channels).status_code]


if __name__ == "__main__":
    work = {
        "requests-oauthlib": requests_oauthlib,
        "Authlib": authlib,
        "google-auth": google_auth,
        "google-auth service account": google_service_account,
    }
    say(done=work[sys.argv[1]]())
