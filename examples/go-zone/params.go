package main

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// TaskParams are the params of execute_task that are used here. docs/reference/contract.md lists all of them.
type TaskParams struct {
	Text        string
	Channel     string
	ThreadTS    string
	UserID      string
	SessionID   string
	TimeoutMs   int64
	Attachments []Attachment
	History     []Message
}

// Attachment is a file of the message. Whoever sends a task chooses its URL: read it only from https and from public addresses.
type Attachment struct{ ID, Name, URL string }

// Message is an earlier message of the thread. Role is "user" or "assistant".
type Message struct{ Role, Text string }

// paramReader reads the params of one request. Its first error names what does not fit, but not the value. null and "" count as absent.
type paramReader struct {
	given map[string]any
	err   error
}

func readParams(params any) *paramReader {
	given, isObject := params.(map[string]any)
	if !isObject {
		return &paramReader{err: &refusal{Reason: invalidParams}}
	}
	return &paramReader{given: given}
}

func (r *paramReader) refuse(name, message string) {
	if r.err == nil {
		r.err = &refusal{Reason: invalidParams, Issues: []issue{{Path: name, Message: message}}}
	}
}

func (r *paramReader) text(name string, most int) string {
	value := r.given[name]
	text, isText := value.(string)
	if value != nil && (!isText || utf8.RuneCountInString(text) > most) {
		r.refuse(name, fmt.Sprintf("a text of 1 to %d characters", most))
	}
	return text
}

func (r *paramReader) integer(name string, least, most int64) int64 {
	value := r.given[name]
	if value == nil || value == "" {
		return 0
	}
	number, _ := value.(json.Number)
	integer, err := number.Int64()
	if err != nil || integer < least || integer > most {
		r.refuse(name, fmt.Sprintf("an integer from %d to %d", least, most))
	}
	return integer
}

func (r *paramReader) objects(name string, most int) []map[string]any {
	value := r.given[name]
	if value == nil || value == "" {
		return nil
	}
	entries, isList := value.([]any)
	var objects []map[string]any
	for _, entry := range entries {
		if object, isObject := entry.(map[string]any); isObject {
			objects = append(objects, object)
		}
	}
	if !isList || len(objects) < len(entries) || len(entries) > most {
		r.refuse(name, fmt.Sprintf("up to %d objects", most))
	}
	return objects
}

func readTaskParams(given any) (TaskParams, error) {
	r := readParams(given)
	params := TaskParams{
		Text:      r.text("text", 40_000),
		Channel:   r.text("channel", 64),
		ThreadTS:  r.text("thread_ts", 64),
		UserID:    r.text("user_id", 64),
		SessionID: r.text("session_id", 100),
		TimeoutMs: r.integer("timeout_ms", 1, 1<<53),
	}
	for _, file := range r.objects("attachments", 20) {
		f := &paramReader{given: file}
		params.Attachments = append(params.Attachments, Attachment{
			ID: f.text("id", 128), Name: f.text("name", 255), URL: f.text("url", 4096),
		})
		if f.err != nil {
			r.refuse("attachments", "files as of the contract")
		}
	}
	for _, message := range r.objects("history", 50) {
		m := &paramReader{given: message}
		params.History = append(params.History, Message{Role: m.text("role", 64), Text: m.text("text", 4000)})
		if m.err != nil {
			r.refuse("history", "messages as of the contract")
		}
	}
	isEmptyText := r.given["text"] == "" && len(params.Attachments) > 0
	if params.Text == "" && !isEmptyText {
		r.refuse("text", "a text of 1 to 40000 characters, or an empty one with attachments")
	}
	return params, r.err
}
