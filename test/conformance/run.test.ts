/** The run itself: its budget, what is skipped, what counts, and how much is under way at the same time. */
import { describe, expect, it } from "@jest/globals";
import { conformanceCases } from "@sekisho/conformance/cases/all.ts";
import {
  type ConformanceReport,
  checkEndpoint,
  runConformance,
} from "@sekisho/conformance/conformance.ts";
import { createHttpSender } from "@sekisho/conformance/sender.ts";
import { parseJson } from "@sekisho/runtime/untrusted-input.ts";
import { json, raw, silence } from "../doubles/answers.ts";
import { minimalEndpoint } from "../doubles/minimal-endpoint.ts";
import { startWebServer } from "../doubles/web-server.ts";
import { afterTest } from "../tooling/cleanup.ts";
import {
  conform,
  createHonestHost,
  type Handle,
  namesOf,
  serveHost,
  token,
} from "./honest-endpoint.ts";

const only = (...themes: string[]) =>
  conformanceCases.filter(({ name }) => themes.some((one) => name.startsWith(one)));
const textOf = (body: Uint8Array) => Buffer.from(body).toString();

/** Sends a byte now and then, and never ends. */
function drip(): Response {
  let timer: NodeJS.Timeout | undefined;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      timer = setInterval(() => controller.enqueue(new TextEncoder().encode(" ")), 10);
    },
    cancel: () => clearInterval(timer),
  });
  return raw(body);
}

describe("the budget", () => {
  it("ends a run by its budget if answers never end, and fails the cases that it could not see", async () => {
    const honest = serveHost(createHonestHost());
    const handle: Handle = async (call) =>
      textOf(call.body).includes("execute_task") ? drip() : honest(call);
    const cases = only("execute/answers", "execute/every", "errors/unknown");
    // Doubles the budget where a busy machine could not even answer what is honest.
    const run = async (budgetMs: number): Promise<ConformanceReport> => {
      const report = await conform(handle, { cases, budgetMs }).catch(() => undefined);
      const isSpent = report?.cases
        .slice(1)
        .some(({ came }) => came === "the budget of the run was used up (--budget)");
      return report === undefined || isSpent ? run(2 * budgetMs) : report;
    };
    expect((await run(300)).cases).toMatchObject([
      {
        name: "execute/answers",
        outcome: "failed",
        came: "the budget of the run was used up (--budget)",
      },
      { name: "execute/every-param", outcome: "skipped", came: "execute/answers failed" },
      { name: "errors/unknown-method", outcome: "passed" },
      { name: "execute/every-file", outcome: "skipped", came: "execute/answers failed" },
    ]);
  });

  it("ends a check by its budget if the endpoint never completes an answer", async () => {
    const { url, close } = await startWebServer({ handle: async () => drip() });
    afterTest(close);
    const result = await checkEndpoint({ url: new URL(url), budgetMs: 100, callTimeoutMs: 60_000 });
    expect(result).toEqual({ unreachable: "It did not answer within the budget of the run." });
  });

  it("limits the time of one call, even if its answer drips", async () => {
    const { url, close } = await startWebServer({ handle: async () => drip() });
    afterTest(close);
    const result = await checkEndpoint({ url: new URL(url), callTimeoutMs: 100 });
    expect(result).toEqual({ unreachable: "It cannot be reached: no answer within 0.1 s." });
  });

  it("stops waiting for a sender that ignores its signal", async () => {
    const sender = {
      ...createHttpSender({ url: new URL("http://127.0.0.1:1/"), isLocal: false }),
      send: () => new Promise<never>(() => {}),
    };
    expect(await runConformance({ sender, callTimeoutMs: 50 })).toEqual({
      unreachable: "It cannot be reached: no answer within 0.05 s.",
    });
  });
});

describe("a case", () => {
  it("skips a case if a case that it needs has failed, and names that case", async () => {
    const honest = serveHost(createHonestHost());
    const handle: Handle = async (call) =>
      textOf(call.body).includes("cancel_task") ? raw("", { status: 500 }) : honest(call);
    const report = await conform(handle, {
      cases: only("execute/answers", "accepted/", "cancel/"),
    });
    const byName = new Map(report.cases.map((one) => [one.name, one]));
    expect(byName.get("cancel/running")?.outcome).toBe("failed");
    expect(byName.get("cancel/again")).toMatchObject({
      outcome: "skipped",
      came: "cancel/running failed",
    });
  });

  it("skips a case for the first cause if a case that it needs was skipped", async () => {
    const cases = only("accepted/result", "accepted/by-task-id", "ended/success", "ended/stays");
    const report = await conform(minimalEndpoint({ token }), { cases, isIdempotent: false });
    const cause = expect.stringMatching(
      /^the endpoint answers ".+" at once and not by "accepted" \(--slow-text\)$/,
    );
    expect(report.cases.map(({ came }) => came)).toEqual(report.cases.map(() => cause));
    expect(namesOf(report, "skipped")).toHaveLength(4);
  });

  it("names the failed step, what was sent, the section of the contract and the advice", async () => {
    const honest = serveHost(createHonestHost());
    const handle: Handle = async (call) => {
      const text = textOf(call.body);
      return /"thread_ts":"\d/.test(text)
        ? json({ jsonrpc: "2.0", id: JSON.parse(text).id, result: {} })
        : honest(call);
    };
    const report = await conform(handle, { cases: only("execute/answers", "idempotency/other") });
    expect(report.cases[1]).toMatchObject({
      name: "idempotency/other-content",
      outcome: "failed",
      step: "another thread",
      sent: expect.stringMatching(/"thread_ts":"\d/),
      contract: "docs/reference/contract.md, execute_task",
      advice: expect.stringContaining("Compare channel"),
    });
  });

  it("accepts another error number with the right reason in cases about callers", async () => {
    const honest = serveHost(createHonestHost());
    const handle: Handle = async (call) => {
      const response = await honest(call);
      return raw((await response.text()).replace('"code":-32061', '"code":-32001'), {
        status: response.status,
      });
    };
    const cases = only("authentication/nobody", "isolation/unknown-caller", "tasks/unknown-get");
    const report = await conform(handle, { cases });
    expect(namesOf(report, "failed")).toEqual(["tasks/unknown-get"]);
    expect(namesOf(report, "passed")).toContain("isolation/unknown-caller-runs-nothing");
  });

  it("advises which ids to accept if an id is refused", async () => {
    const keeps = minimalEndpoint({ token });
    const handle: Handle = async (call) => {
      const { id } = Object(parseJson(call.body));
      const isRefused = typeof id === "number" || String(id).length > 36;
      return isRefused
        ? json({ jsonrpc: "2.0", id: null, error: { code: -32600, message: "no" } })
        : keeps(call);
    };
    const report = await conform(handle, { cases: only("envelope/any-id", "envelope/integer-id") });
    const advice = expect.stringContaining(
      "strings of 1 to 128 characters (not bytes) or integers",
    );
    expect(report.cases).toMatchObject([
      { name: "envelope/any-id", outcome: "failed", advice },
      { name: "envelope/integer-id", outcome: "failed", advice },
    ]);
  });

  it("survives an answer that is nested too deep", async () => {
    const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
    const honest = serveHost(createHonestHost());
    const handle: Handle = async (call) => {
      const text = textOf(call.body);
      const isTask = text.includes("execute_task") && text.startsWith("{");
      return isTask
        ? raw(`{"jsonrpc":"2.0","id":"${JSON.parse(text).id}","result":${deep}}`)
        : honest(call);
    };
    const report = await conform(handle, { cases: only("execute/answers") });
    expect(report.cases).toMatchObject([
      { outcome: "failed", came: expect.stringContaining("nested deeper") },
    ]);
  });
});

describe("the levels", () => {
  const cases = only("execute/answers", "envelope/utf-8", "idempotency/other-content", "leaks/");

  it("counts failures of strict cases only at the level strict", async () => {
    const handle = minimalEndpoint({ token });
    for (const level of ["required", "strict"] as const) {
      const report = await conform(handle, { cases, level, isIdempotent: false });
      expect(namesOf(report, "failed")).toEqual(["envelope/utf-8", "idempotency/other-content"]);
      expect(report.kept).toBe(level === "required");
    }
  });

  it("requires deduplication of an endpoint that is declared idempotent", async () => {
    const report = await conform(minimalEndpoint({ token }), {
      cases,
      level: "required",
      isIdempotent: true,
    });
    expect(report.kept).toBe(false);
  });

  it("counts a leak at every level", async () => {
    const keeps = minimalEndpoint({ token });
    const handle: Handle = async (call) =>
      textOf(call.body).includes("no_such_method")
        ? json({
            jsonrpc: "2.0",
            id: null,
            error: { code: -32601, message: "at /usr/lib/agent.py" },
          })
        : keeps(call);
    const report = await conform(handle, { cases, level: "required", isIdempotent: false });
    expect(namesOf(report, "failed")).toContain("leaks/innards");
    expect(report.kept).toBe(false);
  });
});

describe("the run", () => {
  it("runs cases concurrently, up to the maximum of concurrent calls", async () => {
    const honest = serveHost(createHonestHost());
    let [calls, open, most] = [0, 0, 0];
    const { promise: threeOpen, resolve: noteThreeOpen } = Promise.withResolvers<void>();
    const handle: Handle = async (call) => {
      calls += 1;
      open += 1;
      most = Math.max(most, open);
      if (most === 3) noteThreeOpen();
      // The first call asks on its own whether anything answers.
      if (calls > 1) await threeOpen;
      return honest(call).finally(() => {
        open -= 1;
      });
    };
    const report = await conform(handle, {
      cases: only("execute/answers", "envelope/", "errors/"),
      maxConcurrentCalls: 3,
    });
    expect(report.kept).toBe(true);
    expect(most).toBe(3);
  });

  it("uses a separate session for each case that runs tasks", async () => {
    const sessions = new Map<string, Set<string>>();
    const honest = serveHost(createHonestHost());
    const handle: Handle = async (call) => {
      const text = textOf(call.body);
      const { params, method } = Object(text.startsWith("{") ? JSON.parse(text) : undefined);
      const session = String(
        call.request.headers.get("x-amzn-bedrock-agentcore-runtime-session-id"),
      );
      if (method === "execute_task")
        sessions.set(session, (sessions.get(session) ?? new Set()).add(params.text));
      return honest(call);
    };
    const report = await conform(handle, {
      cases: only("execute/answers", "execute/unicode", "isolation/side"),
    });
    expect(report.kept).toBe(true);
    expect(sessions.size).toBeGreaterThanOrEqual(8);
    expect(Math.max(...[...sessions.values()].map(({ size }) => size))).toBe(1);
  });

  it("skips the second look on request", async () => {
    const report = await conform(serveHost(createHonestHost()), { hasSecondLook: false });
    const looks = report.cases.filter(({ name }) => name.startsWith("second-look/"));
    expect(new Set(looks.map(({ outcome, came }) => `${outcome}: ${came}`))).toEqual(
      new Set(["skipped: there is no second look (--no-second-look)"]),
    );
  });

  it("rejects without a report when it is interrupted", async () => {
    const interrupt = new AbortController();
    const handle: Handle = async ({ request, body }) => {
      if (!textOf(body).includes("execute_task"))
        return serveHost(createHonestHost())({ request, body, target: "/" });
      interrupt.abort(new Error("interrupted"));
      return silence(request);
    };
    const run = conform(handle, { cases: only("execute/answers"), interrupt: interrupt.signal });
    await expect(run).rejects.toThrow("interrupted");
  });
});
