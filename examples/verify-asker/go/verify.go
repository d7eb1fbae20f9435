// Verifies the token that says who asked, with the standard library only.
package main

import (
	"bytes"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"math/big"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// Key is a public key of the zone, as its JWKS has it.
type Key struct{ Kid, Kty, Alg, N, E, Crv, X, Y string }

// Verifier is for one agent. Several instances of the agent need a store of used ids that they share.
type Verifier struct {
	Issuer    string   // the issuer of the zone's discovery document, character by character
	Audience  string   // the audience of this agent, which no other agent has
	Zones     []string // the zones that may ask: the values of client_id
	Tolerance int64    // seconds that the clocks of the two sides may differ
	Keys      []Key
	mutex     sync.Mutex
	usedIDs   map[string]int64
}

// Refused says which check failed, and holds nothing of the token.
type Refused string

func (reason Refused) Error() string { return string(reason) }

// Without a digest a token is for reading the state of a task, as often as it lives. The first three are of the contract, the others of A2A.
var polls = []string{"get_task", "cancel_task", "feedback", "GetTask", "CancelTask", "SubscribeToTask"}
var texts = []string{"slack_team", "slack_enterprise", "slack_user", "slack_channel", "slack_thread", "request_id", "email"}
var form = regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$`)
var base64url = base64.RawURLEncoding.Strict() // refuses another spelling of the same bytes

// Verify returns the claims. "sub" is the person, or equals "client_id" if no person asked. The body is that of the HTTP request, byte by byte.
func (v *Verifier) Verify(token string, body []byte, now time.Time) (map[string]any, error) {
	parts := strings.Split(token, ".")
	if len(token) > 8192 || !form.MatchString(token) {
		return nil, Refused("malformed")
	}
	header, err := parsePart(parts[0])
	signature, signatureErr := base64url.DecodeString(parts[2])
	if err != nil || signatureErr != nil {
		return nil, Refused("malformed")
	}
	// The key and its algorithm are the zone's own: what a token brings is never used.
	key, isKnown := v.find(header["kid"])
	_, isCritical := header["crit"]
	if !isKnown || header["alg"] != key.Alg || isCritical || header["typ"] != "at+jwt" && header["typ"] != "application/at+jwt" {
		return nil, Refused("header")
	}
	digest := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if !key.hasSigned(digest[:], signature) {
		return nil, Refused("signature")
	}

	claims, err := parsePart(parts[1])
	if err != nil {
		return nil, Refused("malformed")
	}
	sub, client, jti := text(claims["sub"]), text(claims["client_id"]), text(claims["jti"])
	actor, _ := claims["act"].(map[string]any) // A person comes with the zone that speaks for it.
	isFine := claims["iss"] == v.Issuer && claims["aud"] == v.Audience && sub != "" && jti != "" && contains(v.Zones, client)
	for _, name := range texts {
		value, exists := claims[name]
		_, isText := value.(string)
		isFine = isFine && (isText || !exists)
	}
	iat, iatErr := second(claims["iat"])
	exp, expErr := second(claims["exp"])
	nbf, nbfErr := iat, error(nil)
	if value, exists := claims["nbf"]; exists {
		nbf, nbfErr = second(value)
	}
	if !isFine || sub != client && actor["sub"] != client || iatErr != nil || expErr != nil || nbfErr != nil {
		return nil, Refused("claims")
	}
	latest := now.Unix() + v.Tolerance
	if exp <= iat || exp-iat > 300 || exp+v.Tolerance <= now.Unix() || iat > latest || nbf > latest {
		return nil, Refused("time")
	}

	if _, exists := claims["body_sha256"]; !exists && isPoll(body) {
		return claims, nil
	}
	bodyDigest := sha256.Sum256(body)
	if claims["body_sha256"] != hex.EncodeToString(bodyDigest[:]) {
		return nil, Refused("body")
	}
	if !v.use(jti, exp+v.Tolerance, now.Unix()) {
		return nil, Refused("replayed")
	}
	return claims, nil
}

// use returns false if the id was used before.
func (v *Verifier) use(jti string, until, now int64) bool {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	for old, end := range v.usedIDs {
		if end <= now {
			delete(v.usedIDs, old)
		}
	}
	if _, exists := v.usedIDs[jti]; exists {
		return false
	}
	if v.usedIDs == nil {
		v.usedIDs = map[string]int64{}
	}
	v.usedIDs[jti] = until
	return true
}

func (v *Verifier) find(kid any) (Key, bool) {
	for _, key := range v.Keys {
		if key.Kid == kid {
			return key, true
		}
	}
	return Key{}, false
}

func (key Key) hasSigned(digest, signature []byte) bool {
	switch key.Kty + " " + key.Crv + " " + key.Alg {
	case "RSA  RS256":
		public := rsa.PublicKey{N: number(key.N), E: int(number(key.E).Int64())}
		return rsa.VerifyPKCS1v15(&public, crypto.SHA256, digest, signature) == nil
	case "EC P-256 ES256":
		public := ecdsa.PublicKey{Curve: elliptic.P256(), X: number(key.X), Y: number(key.Y)}
		// The two halves of JOSE, not the DER of certificates.
		return len(signature) == 64 && ecdsa.Verify(&public, digest, integer(signature[:32]), integer(signature[32:]))
	}
	return false
}

func number(encoded string) *big.Int {
	data, _ := base64url.DecodeString(encoded)
	return integer(data)
}

func integer(data []byte) *big.Int { return new(big.Int).SetBytes(data) }

func text(value any) string {
	result, _ := value.(string)
	return result
}

// second refuses numbers with a fraction or an exponent.
func second(value any) (int64, error) {
	result, isNumber := value.(json.Number)
	if !isNumber {
		return 0, errors.New("no number")
	}
	seconds, err := result.Int64()
	if err == nil && (seconds < 0 || seconds > 1<<53) {
		err = errors.New("out of range")
	}
	return seconds, err
}

func contains(list []string, value string) bool {
	for _, one := range list {
		if one == value {
			return true
		}
	}
	return false
}

func isPoll(body []byte) bool {
	request, err := parse(body)
	return err == nil && contains(polls, text(request["method"]))
}

func parsePart(part string) (map[string]any, error) {
	data, err := base64url.DecodeString(part)
	if err != nil {
		return nil, err
	}
	return parse(data)
}

// parse reads a JSON object in which no key is repeated, because parsers differ on which of the two counts. A struct would not do:
// encoding/json takes the last of several keys, and ignores their case.
func parse(data []byte) (map[string]any, error) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	value, err := parseValue(decoder, 0)
	object, isObject := value.(map[string]any)
	if _, end := decoder.Token(); err != nil || end != io.EOF || !isObject || !utf8.Valid(data) {
		return nil, errors.New("not one JSON object")
	}
	return object, nil
}

func parseValue(decoder *json.Decoder, depth int) (any, error) {
	token, err := decoder.Token()
	if err != nil || depth > 100 {
		return nil, errors.New("not JSON, or too deep")
	}
	list, object := []any{}, map[string]any{}
	for token == json.Delim('[') && decoder.More() {
		value, err := parseValue(decoder, depth+1)
		if err != nil {
			return nil, err
		}
		list = append(list, value)
	}
	for token == json.Delim('{') && decoder.More() {
		name, err := decoder.Token()
		key, isText := name.(string)
		if _, exists := object[key]; err != nil || !isText || exists {
			return nil, errors.New("a repeated key")
		}
		if object[key], err = parseValue(decoder, depth+1); err != nil {
			return nil, err
		}
	}
	switch token {
	case json.Delim('['):
		_, err = decoder.Token()
		return list, err
	case json.Delim('{'):
		_, err = decoder.Token()
		return object, err
	}
	return token, nil
}
