package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

type reason string

const (
	parseError      reason = "parse_error"
	invalidRequest  reason = "invalid_request"
	methodNotFound  reason = "method_not_found"
	invalidParams   reason = "invalid_params"
	internal        reason = "internal"
	timeout         reason = "timeout"
	taskNotFound    reason = "task_not_found"
	invalidState    reason = "invalid_state"
	executionFailed reason = "execution_failed"
	unauthenticated reason = "unauthenticated"
	alreadyExists   reason = "already_exists"
	rateLimited     reason = "rate_limited"
	unavailable     reason = "unavailable"
	payloadTooLarge reason = "payload_too_large"
	canceled        reason = "canceled"
)

// about holds the number of each reason, its HTTP status, whether the same request may come again, and its message.
var about = map[reason]struct {
	code      int
	status    int
	retryable bool
	message   string
}{
	parseError:      {-32700, 200, false, "The request is not valid JSON."},
	invalidRequest:  {-32600, 200, false, "The body is not a JSON-RPC 2.0 Request object."},
	methodNotFound:  {-32601, 200, false, "There is no such method."},
	invalidParams:   {-32602, 200, false, "The params do not fit the method."},
	internal:        {-32603, 200, false, "Something unexpected went wrong."},
	timeout:         {-32001, 200, false, "The task took longer than it was given."},
	taskNotFound:    {-32061, 200, false, "The task was not found. It was never known, or has expired."},
	invalidState:    {-32063, 200, false, "The task's state does not allow that."},
	executionFailed: {-32064, 200, false, "The agent ran and failed."},
	unauthenticated: {-32066, 401, false, "The caller could not be authenticated."},
	alreadyExists:   {-32068, 200, false, "The same id was used before with other content."},
	rateLimited:     {-32070, 429, true, "Too many requests; try again later."},
	unavailable:     {-32071, 200, true, "The service is not available; try again later."},
	payloadTooLarge: {-32075, 200, false, "The body is larger than allowed."},
	canceled:        {-32076, 200, false, "The task was canceled."},
}

type issue struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// refusal becomes a JSON-RPC error. Its fields are the data of that error.
type refusal struct {
	Reason       reason  `json:"reason"`
	Retryable    bool    `json:"retryable"`
	RetryAfterMs int     `json:"retry_after_ms,omitempty"`
	TaskID       string  `json:"task_id,omitempty"`
	Issues       []issue `json:"issues,omitempty"`
	Current      string  `json:"current,omitempty"`
	Target       string  `json:"target,omitempty"`
}

func (r *refusal) Error() string { return string(r.Reason) }

type responseError struct {
	Code    int     `json:"code"`
	Message string  `json:"message"`
	Data    refusal `json:"data"`
}

type response struct {
	JSONRPC string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  *Result         `json:"result,omitempty"`
	Error   *responseError  `json:"error,omitempty"`
}

// toResponse returns the HTTP status and the response.
func toResponse(id json.RawMessage, result *Result, err error) (int, response) {
	answer := response{JSONRPC: "2.0", ID: id, Result: result}
	if err == nil {
		return 200, answer
	}
	var refused *refusal
	if !errors.As(err, &refused) {
		refused = &refusal{Reason: internal}
	}
	known, data := about[refused.Reason], *refused
	data.Retryable = known.retryable
	answer.Result, answer.Error = nil, &responseError{Code: known.code, Message: known.message, Data: data}
	return known.status, answer
}

type request struct {
	id     json.RawMessage
	method string
	params any
}

const maxIDLength = 128

func readRequest(body []byte) (*request, error) {
	value, err := readJSON(body)
	if err != nil {
		return nil, err
	}
	object, _ := value.(map[string]any)
	method, isText := object["method"].(string)
	if object["jsonrpc"] != "2.0" || !isText {
		return nil, &refusal{Reason: invalidRequest}
	}
	switch id := object["id"].(type) {
	case string:
		if length := utf8.RuneCountInString(id); length < 1 || length > maxIDLength {
			return nil, &refusal{Reason: invalidRequest}
		}
	case json.Number:
		if _, err := id.Int64(); err != nil {
			return nil, &refusal{Reason: invalidRequest}
		}
	default:
		return nil, &refusal{Reason: invalidRequest}
	}
	id, err := json.Marshal(object["id"])
	return &request{id: id, method: method, params: object["params"]}, err
}

const maxDepth = 100

// readJSON reads one JSON value in UTF-8. It refuses an object that has a key twice: readers differ on those, so such a request
// could mean two things. Go's own reader would also take a key in other letters for a field of a struct.
func readJSON(body []byte) (any, error) {
	if !utf8.Valid(body) || !json.Valid(body) {
		return nil, &refusal{Reason: parseError}
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	value, err := readValue(decoder, 0)
	if err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); err != io.EOF {
		return nil, &refusal{Reason: parseError}
	}
	return value, nil
}

func readValue(decoder *json.Decoder, depth int) (any, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, &refusal{Reason: parseError}
	}
	if depth > maxDepth {
		return nil, &refusal{Reason: invalidRequest}
	}
	switch token {
	case json.Delim('{'):
		object := map[string]any{}
		for decoder.More() {
			key, err := decoder.Token()
			if err != nil {
				return nil, &refusal{Reason: parseError}
			}
			name := fmt.Sprint(key)
			if _, isRepeated := object[name]; isRepeated {
				return nil, &refusal{Reason: invalidRequest}
			}
			if object[name], err = readValue(decoder, depth+1); err != nil {
				return nil, err
			}
		}
		_, err := decoder.Token()
		return object, err
	case json.Delim('['):
		list := []any{}
		for decoder.More() {
			entry, err := readValue(decoder, depth+1)
			if err != nil {
				return nil, err
			}
			list = append(list, entry)
		}
		_, err := decoder.Token()
		return list, err
	default:
		return token, nil
	}
}
