/** Agents that are plain async functions: the returned text is the answer, wherever the agent runs. */

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import { bundle, writeFiles } from "@sekisho/cdk/bundle/bundle.ts";
import { parseConfig } from "@sekisho/config/load.ts";
import { defineAgent } from "@sekisho/execution/agent.ts";
import type { Agent } from "@sekisho/execution/agents/agent.ts";
import { createBundledAgent } from "@sekisho/execution/agents/create-agent.ts";
import { stop as stopEsbuild } from "esbuild";
import { folderOfFile } from "../../tooling/cleanup.ts";
import { credentials } from "../../verification/transport/agentcore/sample.ts";
import { createTestHost, hello } from "../test-host.ts";

const folder = folderOfFile();
afterAll(stopEsbuild);

function ask(agent: Agent) {
  const { call, lines } = createTestHost({ agent });
  return call("execute_task", hello).then((answer) => ({ ...answer, lines }));
}

describe("a plain async function", () => {
  it("answers with the text that it returns", async () => {
    const agent = defineAgent(
      async ({ text }, { requestId }) => `${text} ${requestId === "" ? "" : "has an id"}`,
    );
    expect((await ask(agent)).result).toMatchObject({
      status: "success",
      response_text: `${hello.text} has an id`,
    });
  });

  it("fails with execution_failed when it throws, and logs the kind of the error", async () => {
    const { error, lines } = await ask(async () => Promise.reject(new TypeError("a secret")));
    expect(error?.data.reason).toBe("execution_failed");
    expect(lines.join("")).toContain('"cause_kind":"TypeError"');
    expect(lines.join("")).not.toContain("a secret");
  });

  it.each([undefined, null, 7, { text: "hello" }, ["hello"], new Map()])(
    "fails when it returns %p instead of text",
    async (returnValue) => {
      const { error, lines } = await ask((async () => returnValue) as unknown as Agent);
      expect(error?.data.reason).toBe("execution_failed");
      expect(lines.join("")).toContain('"cause_kind":"AgentResultError"');
    },
  );

  it("runs a generator that an async function returns as the agent", async () => {
    async function* updates() {
      yield { type: "progress" as const, text: "on it" };
      yield { type: "answer" as const, text: "from the generator" };
    }
    const agent = (async () => updates()) as unknown as Agent;
    expect((await ask(agent)).result?.response_text).toBe("from the generator");
  });

  it("ends with a timeout through its signal", async () => {
    const { call } = createTestHost({
      agent: (_task, { signal }) =>
        new Promise((_resolve, reject) =>
          signal.addEventListener("abort", () => reject(signal.reason)),
        ),
    });
    const { error } = await call("execute_task", { ...hello, timeout_ms: 1000 });
    expect(error?.data.reason).toBe("timeout");
  });

  it.each(["container", "agentcore", "executionWorker"] as const)(
    "runs a plain async function in the bundle %s",
    async (name) => {
      const own = join(folder, name);
      mkdirSync(own);
      writeFileSync(
        join(own, "agent.ts"),
        "export async function agent({ text }: { text: string }) { return 'You: ' + text; }\n",
      );
      const config = parseConfig({ json: { execution: { agent: "./agent.ts" } } });
      writeFiles({ ...bundle({ name, config, configDirectory: own }), folder: own });
      const readSecret = async () => "";
      const agent = createBundledAgent(own)({
        config: "./agent.ts",
        region: undefined,
        credentials: async () => credentials,
        readSecret,
      });
      expect((await ask(agent)).result?.response_text).toBe(`You: ${hello.text}`);
    },
  );
});
