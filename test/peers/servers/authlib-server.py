"""An authorization server of Authlib in Flask, as its documentation sets it up. Prints its port, ends with its standard input."""

import json
import os
import sys
import threading
import time

os.environ["AUTHLIB_INSECURE_TRANSPORT"] = "1"
from authlib.integrations.flask_oauth2 import AuthorizationServer, ResourceProtector
from authlib.oauth2.rfc6749 import ClientMixin, TokenMixin, grants
from authlib.oauth2.rfc6750 import BearerTokenValidator
from authlib.oauth2.rfc7009 import RevocationEndpoint
from authlib.oauth2.rfc7636 import CodeChallenge
from authlib.oauth2.rfc8414 import AuthorizationServerMetadata
from flask import Flask, jsonify, request
from werkzeug.serving import make_server

SECRET = "secret-of-the-test"
codes, tokens, issued = {}, [], []


class Client(ClientMixin):
    def get_client_id(self):
        return "opsctl"

    def get_default_redirect_uri(self):
        return None

    def get_allowed_scope(self, scope):
        return scope or ""

    def check_redirect_uri(self, uri):
        return uri.startswith("http://127.0.0.1:")

    def check_client_secret(self, secret):
        return secret == SECRET

    def check_endpoint_auth_method(self, method, endpoint):
        return method == "client_secret_basic"

    def check_response_type(self, response_type):
        return response_type == "code"

    def check_grant_type(self, grant_type):
        return grant_type in ("authorization_code", "refresh_token")


class Code:
    def __init__(self, **fields):
        self.__dict__.update(fields)

    def get_redirect_uri(self):
        return self.redirect_uri

    def get_scope(self):
        return self.scope


class Token(TokenMixin):
    def __init__(self, fields):
        self.fields, self.revoked, self.ends = fields, False, time.time() + fields["expires_in"]

    def check_client(self, client):
        return client.get_client_id() == "opsctl"

    def get_scope(self):
        return self.fields.get("scope", "")

    def get_expires_in(self):
        return self.fields["expires_in"]

    def is_expired(self):
        return time.time() > self.ends

    def is_revoked(self):
        return self.revoked


def find(name, value):
    return next((one for one in tokens if one.fields.get(name) == value), None)


class CodeGrant(grants.AuthorizationCodeGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ["client_secret_basic"]

    def save_authorization_code(self, code, request):
        codes[code] = Code(
            code=code,
            redirect_uri=request.redirect_uri,
            scope=request.scope,
            code_challenge=request.data.get("code_challenge"),
            code_challenge_method=request.data.get("code_challenge_method"),
        )

    def query_authorization_code(self, code, client):
        return codes.get(code)

    def delete_authorization_code(self, authorization_code):
        codes.pop(authorization_code.code, None)

    def authenticate_user(self, authorization_code):
        return "ada"


class RefreshGrant(grants.RefreshTokenGrant):
    TOKEN_ENDPOINT_AUTH_METHODS = ["client_secret_basic"]
    INCLUDE_NEW_REFRESH_TOKEN = True

    def authenticate_refresh_token(self, refresh_token):
        found = find("refresh_token", refresh_token)
        return found if found and not found.revoked else None

    def authenticate_user(self, credential):
        return "ada"

    def revoke_old_credential(self, credential):
        credential.revoked = True


class Revocation(RevocationEndpoint):
    def query_token(self, token_string, token_type_hint):
        return find("refresh_token", token_string) or find("access_token", token_string)

    def revoke_token(self, token, request):
        token.revoked = True


class Validator(BearerTokenValidator):
    def authenticate_token(self, token_string):
        return find("access_token", token_string)


def save_token(token, _request):
    tokens.append(Token(token))
    if "refresh_token" in token:
        issued.append(token["refresh_token"])


app = Flask(__name__)
app.config["OAUTH2_REFRESH_TOKEN_GENERATOR"] = True
server = AuthorizationServer(
    app, query_client=lambda client_id: Client() if client_id == "opsctl" else None, save_token=save_token
)
server.register_grant(CodeGrant, [CodeChallenge(required=True)])
server.register_grant(RefreshGrant)
server.register_endpoint(Revocation)
require = ResourceProtector()
require.register_token_validator(Validator())


@app.get("/tenants/one/.well-known/openid-configuration")
def metadata():
    issuer = request.url_root + "tenants/one"
    fields = AuthorizationServerMetadata(
        {
            "issuer": issuer,
            "authorization_endpoint": request.url_root + "oauth/authorize",
            "token_endpoint": request.url_root + "oauth/token",
            "revocation_endpoint": request.url_root + "oauth/end",
            "response_types_supported": ["code"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic"],
            "code_challenge_methods_supported": ["S256"],
        }
    )
    return jsonify(dict(fields))


@app.get("/oauth/authorize")
def authorize():
    server.get_consent_grant(end_user="ada")
    return server.create_authorization_response(grant_user="ada")


@app.post("/oauth/token")
def token():
    return server.create_token_response()


@app.post("/oauth/end")
def end():
    return server.create_endpoint_response(Revocation.ENDPOINT_NAME)


@app.get("/me")
@require("read")
def me():
    return jsonify(sub="ada")


@app.get("/issued")
def what_was_issued():
    return jsonify(issued)


def end_with_input():
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    running = make_server("127.0.0.1", 0, app, threaded=True)
    threading.Thread(target=end_with_input, daemon=True).start()
    print(json.dumps({"port": running.port}), flush=True)
    running.serve_forever()
