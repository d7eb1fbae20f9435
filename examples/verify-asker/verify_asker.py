"""Verifies the token that says who asked. Needs PyJWT with cryptography: pip install "pyjwt[crypto]"."""
import base64, hashlib, json, re, sys, threading, time
import jwt

# Without a digest a token is for reading the state of a task, as often as it lives. The first three are of the contract, the others of A2A.
POLLS = ("get_task", "cancel_task", "feedback", "GetTask", "CancelTask", "SubscribeToTask")
TEXTS = ("slack_team", "slack_enterprise", "slack_user", "slack_channel", "slack_thread", "request_id", "email")

# The ids of used tokens. Several instances need a store that they share, such as Redis: SET jti 1 NX EX 400.
used_ids, lock = {}, threading.Lock()


class Refused(Exception):
    """Says which check failed, and holds nothing of the token."""


def verify(token, body, settings, now=None):
    """Returns the claims. `sub` is the person, or equals `client_id` if no person asked. `body` is the body of the request, byte by byte."""
    now = time.time() if now is None else now
    parts = re.fullmatch(r"([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)", token)
    check(parts and len(token) <= 8192 and encode(decode(parts[3])) == parts[3], "malformed")

    # The key and its algorithm are the zone's own: what a token brings is never used.
    header = parse(decode(parts[1]), "malformed")
    keys = [key for key in settings["jwks"]["keys"] if key["kid"] == header.get("kid")]
    check(len(keys) == 1 and keys[0]["alg"] in ("RS256", "ES256") and header.get("alg") == keys[0]["alg"], "header")
    check(header.get("typ") in ("at+jwt", "application/at+jwt") and "crit" not in header, "header")
    try:
        payload = jwt.PyJWS().decode(token, jwt.PyJWK(keys[0]).key, algorithms=[keys[0]["alg"]])
    except jwt.InvalidTokenError:
        raise Refused("signature") from None

    claims = parse(payload, "malformed")
    sub, client_id, jti = (claims.get(name) for name in ("sub", "client_id", "jti"))
    check(claims.get("iss") == settings["issuer"] and claims.get("aud") == settings["audience"], "claims")
    check(all(type(text) is str and text for text in (sub, client_id, jti)) and client_id in settings["zones"], "claims")
    act = claims.get("act")  # A person comes with the zone that speaks for it.
    check(sub == client_id or type(act) is dict and act.get("sub") == client_id, "claims")
    check(all(type(claims[name]) is str for name in TEXTS if name in claims), "claims")

    iat, exp, tolerance = claims.get("iat"), claims.get("exp"), settings["tolerance_seconds"]
    nbf = claims.get("nbf", iat)
    check(all(type(second) is int for second in (iat, exp, nbf)), "claims")  # True is not an int here.
    check(0 < exp - iat <= 300 and now < exp + tolerance and max(iat, nbf) <= now + tolerance, "time")

    if "body_sha256" not in claims and is_poll(body):
        return claims
    check(claims.get("body_sha256") == hashlib.sha256(body).hexdigest(), "body")
    with lock:
        for old in [old for old, until in used_ids.items() if until <= now]:
            del used_ids[old]
        check(jti not in used_ids, "replayed")
        used_ids[jti] = exp + tolerance
    return claims


def check(holds, reason):
    if not holds:
        raise Refused(reason)


def decode(part):
    try:
        return base64.urlsafe_b64decode(part + "=" * (-len(part) % 4))
    except ValueError:
        raise Refused("malformed") from None


def encode(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def is_poll(body):
    try:
        method = parse(body, "body").get("method")
        return type(method) is str and method in POLLS
    except Refused:
        return False


def parse(data, reason):
    """Parses a JSON object in which no key is repeated, because parsers differ on which of the two counts."""

    def without_repeated_keys(pairs):
        check(len(dict(pairs)) == len(pairs), reason)
        return dict(pairs)

    try:
        value = json.loads(data.decode(), object_pairs_hook=without_repeated_keys)
    except (ValueError, RecursionError):
        raise Refused(reason) from None
    check(type(value) is dict, reason)
    return value


def run_vectors(path):
    with open(path, encoding="utf-8") as file:
        content = json.load(file)

    def verdict(request):
        try:
            verify(request["token"], base64.b64decode(request["body"]), content["settings"], request["now"])
            return "valid"
        except Refused as refused:
            return str(refused)
        except Exception as error:
            return f"an error: {error!r}"

    wrong = 0
    for vector in content["vectors"]:
        used_ids.clear()
        if "first" in vector:
            verdict(vector["first"])
        given = verdict(vector)
        wrong += given != vector["expected"]
        print("ok" if given == vector["expected"] else "WRONG", f"{given}: {vector['name']}")
    print(f"{len(content['vectors'])} vectors, {wrong} wrong")
    return wrong


if __name__ == "__main__":
    sys.exit(1 if run_vectors(sys.argv[1]) else 0)
