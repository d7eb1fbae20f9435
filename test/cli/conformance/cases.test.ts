import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { createPeerUnderTest } from "../../../lib/cli/conformance/peer.ts";
import { conformanceCases } from "../../../lib/cli/conformance/run-cases.ts";
import { raw, result, success } from "../../doubles/answers.ts";
import { minimalEndpoint } from "../../doubles/minimal-endpoint.ts";
import { afterTest } from "../../tooling/cleanup.ts";
import { type Break, breaks, broken, error } from "./breaks.ts";
import { conform, namesOf, ownHost, token } from "./endpoint.ts";

function endpoint(how: Break["how"]) {
  const host = ownHost();
  afterTest(() => host.stop({ graceMs: 0 }));
  return broken({ host, how });
}

describe("an endpoint that keeps the contract", () => {
  it("passes what is required, if it only answers at once and stores nothing; the rest is not kept or skipped", async () => {
    const reports = await conform({ handle: minimalEndpoint({ token }) });
    const failed = reports.filter(({ outcome }) => outcome === "failed");
    expect(failed.filter(({ level }) => level === "required")).toEqual([]);
    expect(failed.map(({ name }) => name)).toContain("idempotency/other-content");
    expect(namesOf(reports, "skipped")).toEqual(
      conformanceCases
        .map(({ name }) => name)
        .filter(
          (name) =>
            (/^(accepted|cancel|ended|discover)\//.test(name) && name !== "accepted/in-time") ||
            /^(execute\/timeout-ms|errors\/failed-task|tasks\/question(-id)?|idempotency\/not-run-again)$/.test(name),
        ),
    );
  });

  it("may give up a slow task by itself, where it says that it did", async () => {
    const handle = endpoint(({ sent }) => error({ sent, code: -32001 }));
    const reports = await conform({ handle, theme: "accepted/" });
    expect(namesOf(reports, "passed")).toEqual(["accepted/in-time"]);
    expect(namesOf(reports, "failed")).toEqual([]);
  });

  it("does not fail for a task that ends early", async () => {
    const asked = { handle: endpoint(({ kept }) => kept()), theme: "execute/timeout", slow: "slow 300ms" };
    const reports = await conform({ ...asked, now: () => performance.now() });
    expect(reports).toMatchObject([{ outcome: "skipped", came: 'the task "slow 300ms" is too short for this case' }]);
  });

  it("must deduplicate only where it is declared to", async () => {
    const handle = minimalEndpoint({ token });
    const asked = { handle, theme: "idempotency/other-content" };
    expect(await conform(asked)).toMatchObject([{ level: "optional", outcome: "failed" }]);
    expect(await conform({ ...asked, isIdempotent: true })).toMatchObject([{ level: "required", outcome: "failed" }]);
  });

  it("is checked for optional fields where it sends them: ids of questions, and partial answers", async () => {
    const question = { handle: endpoint(({ kept }) => kept()), theme: "tasks/question", ask: "ask me" };
    const answer = { handle: endpoint(({ kept }) => kept()), theme: "accepted/partial", slow: "stream, slow 5s" };
    const reports = [...(await conform(question)), ...(await conform(answer))];
    expect(namesOf(reports, "passed")).toEqual(["tasks/question", "tasks/question-id", "accepted/partial-text"]);
  });

  it("may ask a question, which is answered by its first option", async () => {
    const question = { status: "input_required", task_id: "1", prompt: "?", options: [{ id: "a", label: "A" }] };
    const how = ({ sent }: { sent: { id: string; method: string; params: { option_id?: string } } }) =>
      sent.method === "execute_task" ? result(sent, question) : success(sent, `took ${sent.params.option_id}`);
    const reports = await conform({ handle: endpoint(how), theme: "tasks/question", ask: "ask" });
    expect(reports[0]).toMatchObject({ outcome: "passed", came: expect.stringContaining("took a") });
  });
});

describe("the command", () => {
  it("survives an answer that is nested too deep to be looked at", async () => {
    const deep = `${"[".repeat(200_000)}${"]".repeat(200_000)}`;
    const handle = endpoint(({ sent }) => raw(`{"jsonrpc":"2.0","id":"${sent.id}","result":${deep}}`));
    expect(await conform({ handle, theme: "execute/answers" })).toMatchObject([{ outcome: "failed" }]);
  });

  it("waits no longer than its time limit, even for a transport that ignores its signal", async () => {
    const transport = { send: () => new Promise<never>(() => {}) };
    const signal = new AbortController().signal;
    const timing = { timeoutMs: 50, signal };
    const peer = createPeerUnderTest({
      transport,
      strangers: "none",
      authorizer: "none",
      dialect: "zone",
      sessionId: "s",
      ...timing,
    });
    expect(await peer.send({ body: "{}" })).toMatchObject({ failure: "late", came: "no answer within 0.05 s" });
  });

  it("fails the cases for which there is no time left", async () => {
    const asked = { handle: minimalEndpoint({ token }), theme: "envelope/b", timeOver: AbortSignal.abort() };
    const came = "the time for all cases was over";
    expect(await conform(asked)).toMatchObject([{ level: "required", outcome: "failed", came }]);
  });

  it("is documented case by case", () => {
    const page = readFileSync(join(__dirname, "../../../docs/conformance.md"), "utf8");
    const rows = page.split("\n").filter((line) => /^\| `\w+\//.test(line));
    const cases = conformanceCases.map(({ name, level, expects }) => `| \`${name}\` | ${level} | ${expects} |`);
    expect(rows).toEqual(cases);
  });
});

describe("an endpoint that", () => {
  it.each(breaks.map((one) => [one.what, one.found.join(", "), one] as const))(
    "%s is found by %s",
    async (_what, _found, { how, found, ...asked }) => {
      const theme = found[0]?.replace(/[^/]*$/, "") ?? "";
      const reports = await conform({ handle: endpoint(how), theme, ...asked });
      expect(namesOf(reports, "failed")).toEqual(found);
    },
  );

  it("fails each case is among these", () => {
    const found = new Set(breaks.flatMap((one) => one.found));
    expect(conformanceCases.map(({ name }) => name).filter((name) => !found.has(name))).toEqual([]);
  });
});
