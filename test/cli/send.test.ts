/** `sekisho send`: the deadline of a task, and what it says of one that brought no result. */
import { randomUUID } from "node:crypto";
import { afterEach, describe, expect, it } from "@jest/globals";
import { configFields } from "@sekisho/config/schema.ts";
import { freePort } from "@sekisho/local/free-port.ts";
import { silentLog } from "@sekisho/runtime/log.ts";
import { runTask } from "@sekisho/sekisho/destinations/run-task.ts";
import type { WorkerDestination } from "@sekisho/verification/destinations.ts";
import { createInProcessTransport } from "@sekisho/verification/transport/in-process/transport.ts";
import { createClient } from "@sekisho/verification/transport/runner.ts";
import { failure, json, raw, result, silence, success } from "../doubles/answers.ts";
import {
  connectionReset,
  type Received,
  startWebServer,
  type WebServer,
} from "../doubles/web-server.ts";
import { folderOfFile } from "../tooling/cleanup.ts";
import { hangMs, longestLimits } from "../tooling/hang.ts";
import { writeConfig } from "./aws/a-stage.ts";
import { commandHere, failing, refusing } from "./aws/command-here.ts";

const folder = folderOfFile();
let open: WebServer[] = [];
afterEach(async () => {
  await Promise.all(open.map((server) => server.close()));
  open = [];
});

type Call = { id: string; method: string; params: Record<string, unknown>; request: Request };

async function serve(answer: (call: Call) => Response | Promise<Response>): Promise<string> {
  const handle = async ({ body, request }: Received) =>
    answer({ ...(JSON.parse(Buffer.from(body).toString()) as Omit<Call, "request">), request });
  const server = await startWebServer({ handle });
  open.push(server);
  return server.url;
}

const bearer = { type: "bearer", token: { env: "FAR_TOKEN" } };
const withoutAws = {
  AWS_EC2_METADATA_DISABLED: "true",
  HOME: folder,
  AWS_ENDPOINT_URL: "http://127.0.0.1:1",
};

function send(
  url: string,
  { authorizer = bearer as unknown, ...options }: SendOptions & { authorizer?: unknown } = {},
) {
  return sendTo({ transport: "https", url, authorizer }, options);
}

type SendOptions = { env?: Record<string, string>; args?: string[]; limits?: object };

function sendTo(far: object, { env = {}, args = [], limits = longestLimits }: SendOptions = {}) {
  const json = {
    destinations: { far },
    routes: [{ destination: "far" }],
    limits,
    execution: { syncBudgetMs: 100 },
  };
  const config = writeConfig({ folder, name: "sent.json", json });
  return commandHere(["send", "hello", "--config", config, ...args], {
    FAR_TOKEN: "a-token-of-this-test",
    ...env,
  });
}

describe("sekisho send with an ambiguous task", () => {
  it.each<[string, (call: Call) => Response | Promise<Response>, string, object?]>([
    [
      "is silent",
      ({ request }) => silence(request),
      "It did not respond in time",
      { callTimeoutMs: 2000 },
    ],
    [
      "ends the connection",
      () => Promise.reject(connectionReset),
      "It closed the connection before it responded",
    ],
    ["answers HTTP 500", () => raw("", { status: 500 }), "It or a proxy in front of it failed."],
    ["answers a bare HTTP 503", () => raw("", { status: 503 }), "It is temporarily unavailable."],
  ])(
    "reports that the task is ambiguous for a peer that %s, and exits with 1",
    async (_what, answer, why, limits = longestLimits) => {
      let id = "";
      const url = await serve((call) => {
        if (call.method === "execute_task") id = call.id;
        return answer(call);
      });
      const result = await send(url, { limits });
      expect(result).toMatchObject({ code: 1, stdout: "" });
      expect(result.stderr).toContain(`Destination "far": ${why}`);
      expect(result.stderr).toContain("The task may or may not have arrived");
      expect(result.stderr).toContain(
        `Look for ${id} in the destination's log. To test the destination: npx --no-install sekisho doctor --destination far`,
      );
      expect(result.stderr).not.toMatch(/cannot be reached|npx --no-install sekisho execution/);
    },
  );

  it("reports that an accepted task may still run if its result is unavailable", async () => {
    const url = await serve((call) =>
      call.method === "execute_task"
        ? result(call, { status: "accepted", task_id: "task-7", poll_after_ms: 10 })
        : raw("", { status: 403 }),
    );
    const outcome = await send(url);
    expect(outcome).toMatchObject(failing(1, "may still run"));
    expect(outcome.stderr).toContain("Look for task-7 in the destination's log");
    expect(outcome.stderr).toContain("denied access to the caller");
  });
});

describe("sekisho send with an undelivered task", () => {
  it("exits with 3 if nothing listens at an address, without advice about the local zone", async () => {
    const port = await freePort();
    const result = await send(`http://127.0.0.1:${port}/`);
    expect(result).toEqual({
      code: 3,
      stdout: "",
      stderr: `Destination "far" cannot be reached. Nothing is listening at 127.0.0.1:${port}. Check that it is running, and check the port.\n`,
    });
  });

  it("exits with 1 if the peer answers unavailable", async () => {
    const result = await send(await serve((call) => failure(call, "unavailable")), {
      args: ["--json"],
    });
    expect(result).toMatchObject(failing(1, "The task has not begun."));
    expect(JSON.parse(result.stdout)).toMatchObject({ error: { reason: "unavailable" } });
  });

  it("exits with 1 if the address of an agent card returns a web page", async () => {
    const html = { headers: { "content-type": "text/html" } };
    const server = await startWebServer({ handle: async () => new Response("<html>", html) });
    open.push(server);
    const result = await sendTo({ transport: "a2a", card: server.url, authorizer: bearer });
    expect(result).toMatchObject(failing(1, "The card's address returns a web page"));
    expect(result.stderr).toContain("The task has not begun.");
  });

  it.each([
    ["region", {}, "AWS_REGION"],
    ["credentials", { AWS_REGION: "eu-central-1" }, "Set AWS_PROFILE"],
  ])("exits with 1 and explains how to set a missing AWS %s", async (_what, env, words) => {
    const authorizer = { type: "web-identity", audience: "agents" };
    const calls: string[] = [];
    const url = await serve(({ method }) => {
      calls.push(method);
      return raw("", { status: 500 });
    });
    const result = await send(url, { authorizer, env: { ...withoutAws, ...env } });
    expect(result).toMatchObject(refusing(1, words));
    expect(result.stderr).toContain("The task has not begun.");
    expect(calls).toEqual([]);
  });
});

describe("sekisho send with a refused or failed task", () => {
  it.each<[string, (call: Call) => Response, string]>([
    [
      "a wrong token",
      () => json({}, { status: 401 }),
      "(unauthenticated): It could not authenticate the caller.",
    ],
    [
      "a forbidden call",
      () => raw("", { status: 403 }),
      "(permission_denied): It denied access to the caller.",
    ],
    [
      "an agent that failed",
      (call) => failure(call, "execution_failed"),
      "(execution_failed): The agent ran and failed. Read the log of the Execution zone.",
    ],
  ])("explains what to do about %s, and exits with 1", async (_what, answer, words) => {
    const result = await send(await serve(answer));
    expect(result).toMatchObject(failing(1, `The task failed ${words}`));
  });
});

const redirect = (status: number, location: string) => raw("", { status, headers: { location } });
const detail = [{ loc: ["body", "params"], msg: "field required", type: "value_error.missing" }];
const answerWith = ({ id }: Call, result: string) =>
  raw(`{"jsonrpc":"2.0","id":"${id}","result":${result}}`);

describe("sekisho send to an endpoint that violates the contract", () => {
  const notBegun = "The task has not begun.";
  const mayHaveRun = "the task may have run there.";

  it.each<[string, (call: Call) => Response, string[]]>([
    [
      "a redirect",
      () => redirect(307, "/plain/?state=1"),
      ["It redirects to /plain/ (HTTP 307)", notBegun],
    ],
    [
      "another redirect",
      () => redirect(308, "/plain/"),
      ["It redirects to /plain/ (HTTP 308)", notBegun],
    ],
    [
      "a redirect to another host",
      () => redirect(301, "https://user:hunter2@other.example/a?b=hunter2"),
      ["It redirects to https://other.example/a (HTTP 301)", notBegun],
    ],
    [
      "a redirect after the work",
      () => redirect(303, "/done"),
      ["It redirects to /done (HTTP 303)", mayHaveRun],
    ],
    [
      "a redirect to nowhere",
      () => redirect(307, "javascript:hunter2"),
      ["It redirects elsewhere (HTTP 307)", notBegun],
    ],
    [
      "a wrong path",
      () => json({ detail: "Not Found" }, { status: 404 }),
      ["at this path (HTTP 404)", notBegun],
    ],
    [
      "a page for a wrong path",
      () => raw("<p>", { status: 404 }),
      ["at this path (HTTP 404)", notBegun],
    ],
    [
      "a wrong method",
      () => json({}, { status: 405 }),
      ["POST requests at this path (HTTP 405)", notBegun],
    ],
    [
      "a wrong type",
      () => raw("", { status: 415 }),
      ["does not accept JSON at this path (HTTP 415)", notBegun],
    ],
    [
      "another API",
      () => json({ detail }, { status: 422 }),
      [
        "refuses the request",
        "(HTTP 422)",
        "It complains of body.params (field required).",
        notBegun,
      ],
    ],
    [
      "a bad request",
      () => json({ detail }, { status: 400 }),
      ["(HTTP 400)", "body.params", mayHaveRun],
    ],
    ["a conflict", () => raw("", { status: 409 }), ["(HTTP 409)", mayHaveRun]],
    [
      "a web page",
      () => raw("<p>", { headers: { "content-type": "text/html" } }),
      ["a web page (HTTP 200)", mayHaveRun],
    ],
    [
      "NaN",
      (call) =>
        answerWith(call, '{"status":"success","response_text":"NaN: \\"x","usage":{"cost":NaN}}'),
      ['the member "cost" is NaN, which JSON does not have', "(HTTP 200)", mayHaveRun],
    ],
    ["Infinity in a list", (call) => answerWith(call, "[-Infinity]"), ["is -Infinity", mayHaveRun]],
    [
      "half of its JSON",
      () => raw('{"jsonrpc":"2.0","id":"a'),
      ["its JSON is cut off", mayHaveRun],
    ],
    ["no JSON", () => raw("hello"), ["it is not JSON", mayHaveRun]],
    ["an empty body", () => raw(""), ["it is empty", mayHaveRun]],
    [
      "a list",
      (call) => raw(`[{"jsonrpc":"2.0","id":"${call.id}","result":{}}]`),
      ["it is a list", mayHaveRun],
    ],
    [
      "another protocol",
      () => json({ answer: "hello" }),
      ["answers like a plain endpoint", '"type": "http"', mayHaveRun],
    ],
    [
      "another version of JSON-RPC",
      ({ id }) => json({ jsonrpc: "1.0", id, result: "hello" }),
      ['its member "jsonrpc" is not "2.0"', mayHaveRun],
    ],
    [
      "AG-UI",
      () => json({ detail: [{ loc: ["body", "runId"], msg: "hello" }] }, { status: 422 }),
      ["answers like AG-UI", "agents add URL", notBegun],
    ],
    [
      "an error with a code that is a text",
      ({ id }) => json({ jsonrpc: "2.0", id, error: { code: "-32001", message: "no" } }),
      ['its member "error.code" is malformed', mayHaveRun],
    ],
    [
      "a mixed-up id",
      (call) => json({ jsonrpc: "2.0", id: "x", result: call }),
      ["belongs to another call", mayHaveRun],
    ],
    [
      "a number for a text",
      (call) => answerWith(call, '{"status":"success","response_text":42}'),
      ["result.response_text (expected string", "The task has run."],
    ],
    [
      "another state",
      (call) => answerWith(call, '{"status":"done"}'),
      ["result.status", mayHaveRun],
    ],
  ])(
    "names the contract violation (%s), and says whether the task may have run",
    async (_what, answer, words) => {
      const { code, stderr } = await send(await serve(answer));
      expect(code).toBe(1);
      for (const word of words) expect(stderr).toContain(word);
      expect([notBegun, mayHaveRun].filter((doubt) => stderr.includes(doubt))).toHaveLength(
        words.includes("The task has run.") ? 0 : 1,
      );
      expect(stderr).not.toContain("hunter2");
    },
  );

  it("hides a redirect address that repeats the credential", async () => {
    const url = await serve(({ request }) => {
      const token = request.headers.get("authorization")?.slice(7) ?? "";
      return redirect(307, `https://other.example/%61${token.slice(1)}`);
    });
    const result = await send(url);
    expect(result).toMatchObject(failing(1, "It redirects elsewhere (HTTP 307)"));
    expect(result.stderr).not.toMatch(/other.example|token-of-this-test/);
  });

  it("reports an ambiguous task if the peer refuses a repeated request that may have arrived", async () => {
    let calls = 0;
    const url = await serve(() => {
      calls += 1;
      if (calls === 1) throw connectionReset;
      return raw("", { status: 404 });
    });
    const result = await sendTo({ transport: "https", url, authorizer: bearer, idempotent: true });
    expect(result.stderr).toContain("The task may or may not have arrived");
    expect(result.stderr).not.toContain(notBegun);
  });
});

describe("sekisho send to a destination that fails during the task", () => {
  const accepted = { status: "accepted", task_id: "t1" };

  it("continues polling through resets and outages, and sends the task only once", async () => {
    const methods: string[] = [];
    const url = await serve((call) => {
      methods.push(call.method);
      if (call.method === "execute_task") return result(call, accepted);
      if (methods.length < 6) throw connectionReset;
      if (methods.length === 6) return raw("", { status: 503 });
      return success(call, "Good morning.");
    });
    const outcome = await send(url);
    expect(outcome).toMatchObject({ code: 0, stdout: "Good morning.\n" });
    expect(outcome.stderr).toContain("Trying again until the deadline.");
    expect(methods.filter((method) => method === "execute_task")).toHaveLength(1);
  });

  it("looks up the task by its request id after a lost response", async () => {
    const sentIds: string[] = [];
    const url = await serve((call) => {
      if (call.method !== "execute_task") {
        expect([call.params.request_id, call.params.task_id]).toContainEqual(
          call.params.task_id ? "t1" : sentIds[0],
        );
        return call.params.task_id ? success(call, "Good morning.") : result(call, accepted);
      }
      sentIds.push(call.id);
      throw connectionReset;
    });
    expect(await send(url)).toMatchObject({ code: 0, stdout: "Good morning.\n" });
    expect(sentIds).toHaveLength(1);
  });

  it.each<[string, unknown, string]>([
    [
      "as our host sends it",
      { reason: "invalid_params", issues: [{ path: "text", message: "too long" }] },
      "text (too long)",
    ],
    [
      "as pydantic sends it",
      [{ type: "missing", loc: ["message", "parts", 0, "text"], msg: "Field required" }],
      "message.parts.0.text (Field required)",
    ],
    [
      "ajv",
      { errors: [{ instancePath: "/message/role", message: "must be user" }] },
      "/message/role (must be user)",
    ],
    [
      "with members named after fields",
      { errors: { channel: ["is not known"] } },
      "channel (is not known)",
    ],
    ["with a list of names", { missing: ["name"] }, "name (missing)"],
    ["with one field", { field: "channel" }, "channel."],
    [
      "Google",
      [
        {
          "@type": "type.googleapis.com/google.rpc.BadRequest",
          fieldViolations: [{ field: "a", description: "b" }],
        },
      ],
      "a (b)",
    ],
    [
      "from a hostile peer",
      { errors: [null, 7, { path: "\u001b[31mx", message: "y\n".repeat(9999) }] },
      "[31mx (y y",
    ],
  ])("names the invalid field from error data (%s)", async (_, data, words) => {
    const url = await serve(({ id }) =>
      json({ jsonrpc: "2.0", id, error: { code: -32602, message: "no", data } }),
    );
    const result = await send(url);
    expect(result).toMatchObject(failing(1, `It complains of ${words}`));
    expect(result.stderr.length).toBeLessThan(1000);
  });

  it("escapes control characters in JSON output", async () => {
    const error = {
      code: -32602,
      message: "no",
      data: { issues: [{ path: "a\u009b2J", message: "\u202eb" }] },
    };
    const url = await serve(({ id }) => json({ jsonrpc: "2.0", id, error }));
    const { stdout } = await send(url, { args: ["--json"] });
    expect(stdout).toContain("\\u009b2J");
    expect(stdout).not.toMatch(/[\u0080-\u009f\u202e]/);
  });

  it("shows the error message of the agent", async () => {
    const url = await serve((call) =>
      result(call, { status: "error", error_message: "Mondays only.\u001b[2J", error_code: 7 }),
    );
    const outcome = await send(url, { args: ["--json"] });
    expect(outcome).toMatchObject(failing(1, "It says: Mondays only.[2J"));
    expect(JSON.parse(outcome.stdout)).toEqual({
      error: { reason: "execution_failed", explanation: "Mondays only.[2J" },
    });
  });
});

/** Runs a task at a host that says `accepted` for ever, with each progress in its turn. Its clock passes only while it waits. */
function runEndlessTask(
  signal: AbortSignal,
  note: (text: string) => void = () => {},
  progresses: object[] = [],
) {
  const calls: { method: string; params: Record<string, unknown> }[] = [];
  const handle = async (request: Request) => {
    const { id, method, params } = (await request.json()) as Call;
    calls.push({ method, params });
    const status = method === "cancel_task" ? "canceled" : "accepted";
    const progress = method === "get_task" ? progresses.shift() : undefined;
    return Response.json({ jsonrpc: "2.0", id, result: { status, task_id: "t1", progress } });
  };
  const { call, ...others } = createClient({
    transport: createInProcessTransport({ handle, maxResponseBytes: 10_000 }),
    destination: { name: "endless", dialect: "zone", idempotent: true, callTimeoutMs: hangMs },
    log: silentLog,
  });
  const askers: unknown[] = [];
  const client: WorkerDestination["client"] = {
    ...others,
    call(request) {
      askers.push(request.asker);
      return call(request);
    },
  };
  let nowMs = 0;
  const result = runTask({
    config: configFields.parse({
      destinations: { endless: { transport: "in-process", deadlineMs: 60_000 } },
    }),
    destinationName: "endless",
    destination: {
      ...{ client, callTimeoutMs: hangMs, maxSends: 1, longPollMs: 0 },
      asker: { getsEmail: true },
    },
    ...{ text: "hello", requestId: randomUUID(), signal, note, onAccepted() {} },
    now: () => nowMs,
    async sleep({ ms }) {
      nowMs += ms;
    },
  });
  return { calls, askers, ended: result, nowMs: () => nowMs };
}

describe("a task of the command line", () => {
  it("cancels a task as timeout if the host does not end it some seconds after its deadline", async () => {
    const { calls, ended: result, nowMs } = runEndlessTask(new AbortController().signal);
    await expect(result).rejects.toMatchObject({ reason: "timeout" });
    expect(calls[0]).toMatchObject({ method: "execute_task", params: { timeout_ms: 60_000 } });
    expect(calls.at(-1)).toMatchObject({ method: "cancel_task", params: { task_id: "t1" } });
    expect(nowMs()).toBeGreaterThanOrEqual(75_000);
    expect(nowMs()).toBeLessThan(76_000);
  });

  it("names nobody as who asked, because the operator is no person of Slack", async () => {
    const { askers, ended: result } = runEndlessTask(new AbortController().signal);
    await expect(result).rejects.toMatchObject({ reason: "timeout" });
    expect(askers.length).toBeGreaterThan(2);
    expect(new Set(askers)).toEqual(new Set([undefined]));
  });

  it("shows each new progress once", async () => {
    const notes: string[] = [];
    const { ended: result } = runEndlessTask(
      new AbortController().signal,
      (text) => void notes.push(text),
      [
        { text: "Reading", percent: 10 },
        { text: "Reading", percent: 10 },
        { text: "Reading" },
        { partial_text: "a" },
        { partial_text: "ab" },
        {},
      ],
    );
    await expect(result).rejects.toMatchObject({ reason: "timeout" });
    expect(notes).toEqual([
      "The task was accepted. Waiting for the result.",
      "Reading 10 %",
      "Reading",
      "Writing the answer",
    ]);
  });

  it("cancels the task once when a person interrupts it", async () => {
    const person = new AbortController();
    const { calls, ended: result } = runEndlessTask(person.signal, () => person.abort());
    await expect(result).rejects.not.toMatchObject({ reason: "timeout" });
    expect(calls.map(({ method }) => method)).toEqual(["execute_task", "cancel_task"]);
  });
});

describe("sekisho send -", () => {
  it("refuses to read stdin, and sends nothing", async () => {
    const config = writeConfig({ folder, name: "stdin.json", json: {} });
    expect(await commandHere(["send", "-", "--config", config], {})).toMatchObject(
      failing(2, "reads no stdin"),
    );
  });
});

describe("sekisho send to an agent that asks a question", () => {
  it("prints the question and its options", async () => {
    const options = [
      { id: "eu", label: "Europe" },
      { id: "ap", label: "As\u202eia" },
    ];
    const asks = { status: "input_required", task_id: "t", prompt: "Where to?", options };
    const { code, stdout, stderr } = await send(await serve((call) => result(call, asks)));
    expect([code, stdout]).toEqual([1, "Where to?\n"]);
    expect(stderr).toMatch(/one of these:\n {2}eu: Europe\n {2}ap: As\S*ia\n/);
    expect(stderr).not.toContain("\u202e");
  });

  it("prints the question, and explains which fields a reply needs", async () => {
    const options = [
      { id: "eu", label: "Europe" },
      { id: "a\u202ep", label: "Asia" },
    ];
    const fields = [
      { id: "region", label: "Region", type: "choice", required: true, options },
      { id: "copies", label: "Copies", type: "number" },
    ];
    const asks = { status: "input_required", task_id: "t", prompt: "Where to?", fields };
    const url = await serve((call) => result(call, asks));
    const { code, stdout, stderr } = await send(url);
    expect([code, stdout]).toEqual([1, "Where to?\n"]);
    expect(stderr).toContain(
      "this command does not answer questions. Use the page of sekisho start",
    );
    expect(stderr).toMatch(/ {2}region \(choice, required\): eu, ap?\S*\n {2}copies \(number\)/);
    expect(stderr).not.toContain("\u202e");
  });
});
