package main

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode"
)

const (
	maxResultBytes   = 256 * 1024
	maxPartialLength = 12_000
	maxRunning       = 32
	maxKept          = 5000
	keptFor          = 6 * time.Hour
	maxTaskTime      = time.Hour
)

var uuidText = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)

// Progress says how far a task is. PartialText is the whole answer as far as it is written; it stays until the next one.
type Progress struct {
	Text        string `json:"text,omitempty"`
	Percent     *int   `json:"percent,omitempty"`
	PartialText string `json:"partial_text,omitempty"`
}

// Result is the result of each method.
type Result struct {
	Status       string    `json:"status"`
	TaskID       string    `json:"task_id,omitempty"`
	PollAfterMs  int       `json:"poll_after_ms,omitempty"`
	Progress     *Progress `json:"progress,omitempty"`
	ResponseText string    `json:"response_text,omitempty"`
}

// task ends once: the first of the agent's end, a cancel and the end of its time counts.
type task struct {
	id      string
	content [sha256.Size]byte
	stop    context.CancelFunc

	mu       sync.Mutex
	changed  chan struct{} // Closed, and replaced, whenever something changes.
	progress *Progress
	news     int
	told     int // The news that the last read told.
	endedAt  time.Time
	answer   string
	failure  reason
}

func (t *task) report(progress Progress) {
	if letters := []rune(progress.PartialText); len(letters) > maxPartialLength {
		progress.PartialText = string(letters[:maxPartialLength])
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if progress.PartialText == "" && t.progress != nil {
		progress.PartialText = t.progress.PartialText
	}
	t.progress = &progress
	t.news++
	t.tell()
}

func (t *task) end(answer string, failure reason) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.endedAt.IsZero() {
		return
	}
	t.answer, t.failure, t.endedAt = answer, failure, time.Now()
	t.stop()
	t.tell()
}

// tell wakes up everybody who waits. The caller holds the lock.
func (t *task) tell() {
	close(t.changed)
	t.changed = make(chan struct{})
}

// wait returns when the task has ended, when isEnough says so, after the time, and when ctx ends.
func (t *task) wait(ctx context.Context, atMost time.Duration, isEnough func() bool) {
	ctx, cancel := context.WithTimeout(ctx, atMost)
	defer cancel()
	for {
		t.mu.Lock()
		isOver, changed := !t.endedAt.IsZero() || isEnough(), t.changed
		t.mu.Unlock()
		if isOver {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}

func (t *task) hasWords() bool { return t.progress != nil && t.progress.PartialText != "" }
func (t *task) hasNews() bool  { return t.news != t.told }

func (t *task) read() (*Result, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.told = t.news
	if t.failure != "" {
		return nil, &refusal{Reason: t.failure, TaskID: t.id}
	}
	if !t.endedAt.IsZero() {
		return &Result{Status: "success", ResponseText: t.answer}, nil
	}
	return &Result{Status: "accepted", TaskID: t.id, PollAfterMs: 500, Progress: t.progress}, nil
}

func (t *task) cancel() (*Result, error) {
	t.end("", canceled)
	t.mu.Lock()
	defer t.mu.Unlock()
	switch t.failure {
	case canceled:
		return &Result{Status: "canceled", TaskID: t.id}, nil
	case "":
		return nil, &refusal{Reason: invalidState, TaskID: t.id, Current: "completed", Target: "canceled"}
	default:
		return nil, &refusal{Reason: invalidState, TaskID: t.id, Current: "failed", Target: "canceled"}
	}
}

// isOlder tells whether the task ended before that time.
func (t *task) isOlder(before time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.endedAt.IsZero() && t.endedAt.Before(before)
}

// tasks are those of this process, in memory.
type tasks struct {
	mu        sync.Mutex
	byID      map[string]*task
	byRequest map[string]*task
	running   int
}

func newTasks() *tasks {
	return &tasks{byID: map[string]*task{}, byRequest: map[string]*task{}}
}

// start runs the agent, once per request: the same request again is the same task. A request id that is no UUID names no task.
func (all *tasks) start(requestID string, params TaskParams) (*task, error) {
	key := strings.ToLower(requestID)
	isKey := uuidText.MatchString(key)
	content, err := digestOf(params)
	if err != nil {
		return nil, err
	}
	all.mu.Lock()
	defer all.mu.Unlock()
	all.forgetOld()
	if known := all.byRequest[key]; isKey && known != nil {
		if known.content != content {
			return nil, &refusal{Reason: alreadyExists}
		}
		return known, nil
	}
	if all.running >= maxRunning || len(all.byID) >= maxKept {
		return nil, &refusal{Reason: rateLimited, RetryAfterMs: 1000}
	}
	id, err := newID()
	if err != nil {
		return nil, err
	}
	limit := maxTaskTime
	if params.TimeoutMs > 0 && params.TimeoutMs < maxTaskTime.Milliseconds() {
		limit = time.Duration(params.TimeoutMs) * time.Millisecond
	}
	// Not the context of the request: a caller that hangs up does not cancel its task.
	ctx, stop := context.WithTimeout(context.Background(), limit)
	started := &task{id: id, content: content, stop: stop, changed: make(chan struct{})}
	all.byID[id] = started
	if isKey {
		all.byRequest[key] = started
	}
	all.running++
	go func() {
		<-ctx.Done()
		started.end("", timeout) // Of a task that has ended already this changes nothing.
	}()
	go func() {
		run(ctx, started, params)
		all.mu.Lock()
		all.running--
		all.mu.Unlock()
	}()
	return started, nil
}

func (all *tasks) find(taskID, requestID string) (*task, error) {
	all.mu.Lock()
	defer all.mu.Unlock()
	all.forgetOld()
	found := all.byID[taskID]
	if requestID != "" {
		found = all.byRequest[strings.ToLower(requestID)]
	}
	if found == nil {
		return nil, &refusal{Reason: taskNotFound}
	}
	return found, nil
}

// forgetOld runs under the lock.
func (all *tasks) forgetOld() {
	before := time.Now().Add(-keptFor)
	for _, known := range []map[string]*task{all.byID, all.byRequest} {
		for key, one := range known {
			if one.isOlder(before) {
				delete(known, key)
			}
		}
	}
}

func run(ctx context.Context, t *task, params TaskParams) {
	defer func() {
		if thrown := recover(); thrown != nil {
			log.Printf("The agent failed: panic of type %T", thrown)
			t.end("", executionFailed)
		}
	}()
	answer, err := agent(ctx, params, t.report)
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		t.end("", timeout)
	case err != nil:
		if ctx.Err() == nil {
			// The text of an error may hold what the user wrote, or a secret.
			log.Printf("The agent failed: error of type %T", err)
		}
		t.end("", executionFailed)
	case strings.IndexFunc(answer, isVisible) < 0:
		log.Print("The agent failed: it returned no text")
		t.end("", executionFailed)
	case len(answer) > maxResultBytes:
		t.end("", payloadTooLarge)
	default:
		t.end(answer, "")
	}
}

func isVisible(letter rune) bool {
	return !unicode.IsSpace(letter) && !unicode.In(letter, unicode.Cc, unicode.Cf)
}

// digestOf is of what makes two requests with one id the same: signed addresses, history and the time left change by themselves.
func digestOf(params TaskParams) ([sha256.Size]byte, error) {
	var files []string
	for _, file := range params.Attachments {
		files = append(files, file.ID)
	}
	content := []any{params.Channel, params.Text, params.ThreadTS, params.UserID, files}
	written, err := json.Marshal(content)
	return sha256.Sum256(written), err
}

func newID() (string, error) {
	bytes := make([]byte, 16)
	if _, err := rand.Read(bytes); err != nil {
		return "", fmt.Errorf("make a task id: %w", err)
	}
	return fmt.Sprintf("%x", bytes), nil
}
