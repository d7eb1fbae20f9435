/** An agent of somebody else that fails is quoted in the thread with its own words. */
import { describe, expect, it } from "@jest/globals";
import type { BindingName } from "@sekisho/verification/transport/carrier.ts";
import { startAgent } from "../doubles/a2a-peer-agent.ts";
import { result } from "../doubles/answers.ts";
import { startExecutionPeer } from "../doubles/execution-peer.ts";
import { closeAfterTest } from "../doubles/serving.ts";
import { askForeignAgent } from "./foreign-agent.ts";

const said = (text: string) => ({ messageId: "m1", role: "ROLE_AGENT", parts: [{ text }] });
const old = (text: string) => ({
  kind: "message",
  messageId: "m1",
  role: "agent",
  parts: [{ kind: "text", text }],
});

async function askA2aAgent({
  version,
  binding,
  status,
}: {
  version: "1.0" | "0.3";
  binding: BindingName;
  status: object;
}) {
  const task = { id: "t1", contextId: "c1", status };
  const agent = closeAfterTest(
    await startAgent({
      ...{ version, binding },
      answer: () => ({ result: version === "1.0" ? { task } : { kind: "task", ...task } }),
    }),
  );
  const { ask, lines } = await askForeignAgent({
    destination: { transport: "a2a", card: agent.cardUrl },
  });
  return { ...(await ask()), lines, calls: agent.calls };
}

/** Answers `execute_task` with that result. */
async function askLegacyAgent(answer: object) {
  const peer = closeAfterTest(await startExecutionPeer({ script: (call) => result(call, answer) }));
  const { ask, lines } = await askForeignAgent({
    destination: { transport: "https", url: peer.url },
  });
  return { ...(await ask()), lines, calls: peer.calls };
}

describe.each(["JSONRPC", "HTTP+JSON"] as const)(
  "an A2A agent that does not do the task (%s)",
  (binding) => {
    it.each([
      [
        "1.0",
        { state: "TASK_STATE_REJECTED", message: said("We deploy on Mondays only.") },
        "take this on",
      ],
      ["0.3", { state: "rejected", message: old("We deploy on Mondays only.") }, "take this on"],
      [
        "1.0",
        { state: "TASK_STATE_FAILED", message: said("We deploy on Mondays only.") },
        "finish this",
      ],
      ["0.3", { state: "failed", message: old("We deploy on Mondays only.") }, "finish this"],
    ] as const)(
      "quotes an A2A agent of version %s that rejects or fails a task: %j",
      async (version, status, happened) => {
        const { shown: shownText, lines, task } = await askA2aAgent({ version, binding, status });
        expect(shownText).toContain(happened);
        expect(shownText).toContain("It says:\\n> We deploy on Mondays only.");
        expect(lines.join("")).not.toContain("Mondays");
        expect(task.outcome).toMatchObject({ type: "failed" });
      },
    );

    it.each(["1.0", "0.3"] as const)(
      "shows the login request of an A2A agent in its own words, in %s",
      async (version) => {
        const text = "Log in at https://login.example first.";
        const status =
          version === "1.0"
            ? { state: "TASK_STATE_AUTH_REQUIRED", message: said(text) }
            : { state: "auth-required", message: old(text) };
        const { shown: shownText } = await askA2aAgent({ version, binding, status });
        expect(shownText).toContain("https://login.example");
        expect(shownText).toContain("needs you to sign in");
      },
    );
  },
);

describe("an agent of the legacy dialect", () => {
  it("reports a throttled legacy agent as busy, and does not call it again", async () => {
    const { shown: shownText, calls } = await askLegacyAgent({
      ...{
        status: "error",
        error_code: "bedrock_throttling",
        error_message: "ThrottlingException: rate exceeded",
      },
    });
    expect(shownText).toContain("The agent is busy right now. Try again in a few minutes.");
    expect(shownText).not.toContain("ThrottlingException");
    expect(calls.filter(({ method }) => method === "execute_task")).toHaveLength(1);
  });

  it.each([
    [
      "its message",
      { error_code: "E42", error_message: "The <!channel> model is away." },
      "> The &lt;!channel&gt; model is away.",
    ],
    [
      "its code, where it has no message",
      { error_code: "bedrock_access_denied" },
      "> bedrock_access_denied",
    ],
    ["its message without a code", { error_code: null, error_message: "No." }, "> No."],
    ["its message beside a broken code", { error_code: { a: 1 }, error_message: "No." }, "> No."],
  ])("quotes a failed legacy agent by %s", async (_, error, quote) => {
    const { shown: shownText, lines } = await askLegacyAgent({ status: "error", ...error });
    expect(shownText).toContain(`It says:\\n${quote}`);
    expect(lines.join("")).not.toContain("model is away");
  });

  it("posts the file of a legacy agent's answer, with or without a text", async () => {
    const part = {
      kind: "file",
      contentBase64: Buffer.from("a,b\n1,2").toString("base64"),
      fileName: "t.csv",
      mimeType: "text/csv",
    };
    const file_artifact = { artifactId: "a1", name: "generated_file", parts: [part] };
    for (const response_text of ["Here it is.", "", null]) {
      const { shown: shownText, posts } = await askLegacyAgent({
        status: "success",
        response_text,
        file_artifact,
      });
      expect(posts.flatMap(({ files = [] }) => files)).toMatchObject([{ name: "t.csv" }]);
      expect(shownText).toContain(response_text || "answer is in the attached file");
    }
  });
});
