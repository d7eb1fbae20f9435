/** What must stay inside an endpoint, and sentences that may leave it. */
import { describe, expect, it } from "@jest/globals";
import { findLeak } from "@sekisho/conformance/leaks.ts";

describe("a text with a leak", () => {
  it.each([
    "Cannot read properties of undefined (reading 'channel')",
    "'NoneType' object has no attribute 'text'",
    "invalid literal for int() with base 10: ''",
    "undefined method `x' for nil:NilClass",
    "runtime error: index out of range [3] with length 3",
    "cannot open /workspace/agent/settings",
    "permission denied: /mnt/secrets/key",
    "cannot open /data/tenants/acme",
    "Incorrect API key provided: sk-proj-Abcd1234Efgh5678Ijkl9012",
    "User AKIAIOSFODNN7EXAMPLE is not authorized",
    "invalid token xoxb-123456789012-AbCdEfGh",
    "cannot parse -----BEGIN PRIVATE KEY-----MIIEvQ",
    "bad session eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZG1pbiJ9.s5v2b0c",
    "no route to 169.254.169.254",
    "connect failed 127.0.0.1:5432",
    "502 from http://internal-agents-1234.ap-northeast-1.elb.amazonaws.com/run",
    "no route to ip-10-0-3-17.ec2.internal",
    "timeout calling http://tasks.prod.svc.cluster.local:8080/",
    "no route to fd12:3456:789a::1",
    "Incorrect syntax near the keyword 'FROM'.",
    "Access denied for user 'agents'@'db1'",
    'relation "tasks" does not exist',
    "E11000 duplicate key error collection: prod.tasks",
    "login failed for agents with password hunter2hunter2",
    "environ({'DB_PASSWORD': 'hunter2'})",
    '{"DB_PASSWORD":"hunter2"}',
  ])("detects a leak in the text: %s", (text) => expect(findLeak(text)).toBeDefined());
});

describe("a text without a leak", () => {
  it.each([
    "The agent failed.",
    "The task was not found.",
    "text: must be a string",
    "The agent ran out of its budget of 20,000 tokens.",
    "An internal error happened. Tell the operator the time of it.",
    "The data could not be read. Send the file again.",
    "Too many requests. Try again in 30 seconds.",
    "https://errors.example.com/execution_failed",
    "An option was not offered: ask-me-later",
    "Try /help, or write to the team.",
    "Access is denied for this channel.",
  ])("finds no leak in the text: %s", (text) => expect(findLeak(text)).toBeUndefined());
});
