/** The Execution zone that people mount in a server of their own. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "@jest/globals";
import { createExecutionZone } from "@sekisho/execution/index.ts";
import { type Answer, answering, remembering } from "../execution/test-host.ts";
import { afterTest, folderOfTest } from "../tooling/cleanup.ts";

const token = "a-token-that-is-long-enough";

function openZone(options: Partial<Parameters<typeof createExecutionZone>[0]> = {}) {
  const zone = createExecutionZone({
    agent: answering("done"),
    tokens: [token],
    logLevel: "error",
    ...options,
  });
  afterTest(zone.close);
  return zone;
}

async function readAnswer(response: Promise<Response>) {
  return (await (await response).json()) as Answer;
}

function post(url: string, bearer = token, text = "hello"): Request {
  const params = { text, session_id: "s-".padEnd(40, "1") };
  const body = { jsonrpc: "2.0", id: "1", method: "execute_task", params };
  const headers = { authorization: `Bearer ${bearer}`, "content-type": "application/json" };
  return new Request(url, { method: "POST", headers, body: JSON.stringify(body) });
}

describe("fetch of an Execution zone", () => {
  it("serves only the paths below its own", async () => {
    const zone = openZone({ path: "/agents/sekisho" });
    for (const path of ["", "/", "/invocations", "?a=b"]) {
      const response = await zone.fetch(post(`https://example.com/agents/sekisho${path}`));
      expect(await response.json()).toMatchObject({ result: { response_text: "done" } });
    }
    for (const path of ["/", "/agents", "/agents/sekisho-of-another", "/agents/sekisho/nothing"]) {
      expect((await zone.fetch(post(`https://example.com${path}`))).status).toBe(404);
    }
  });

  it("keeps the agent's value in its file", async () => {
    const file = join(folderOfTest(), "execution.db");
    const answers: unknown[] = [];
    for (const text of ["one", "two"]) {
      const zone = openZone({ agent: remembering, file });
      const { result } = await readAnswer(zone.fetch(post("https://example.com/", token, text)));
      answers.push(result?.response_text);
      await zone.close();
    }
    expect(answers).toEqual(["before: undefined", "before: one"]);
  });

  it("does not touch the body of a caller that it refuses", async () => {
    const request = post(
      "https://example.com/agents/sekisho",
      "another-token-that-nobody-gave-out",
    );
    // A server that hands out its bodies on demand, such as Hono's, begins to read the connection at this moment.
    let isTouched = false;
    Object.defineProperty(request, "body", {
      get() {
        isTouched = true;
        return null;
      },
    });
    expect((await openZone({ path: "/agents/sekisho" }).fetch(request)).status).toBe(401);
    expect(isTouched).toBe(false);
  });
});

it.each([[[]], [["short"]], [undefined]])(
  "refuses the tokens %j before it opens the file",
  (tokens) => {
    const file = join(folderOfTest(), "tasks.db");
    const options = { agent: answering("done"), file, tokens } as Parameters<
      typeof createExecutionZone
    >[0];
    expect(() => createExecutionZone(options)).toThrow("Give at least one token");
    expect(existsSync(file)).toBe(false);
  },
);

it("creates no file when an Execution zone has no file configured", () => {
  const savedDirectory = process.cwd();
  process.chdir(folderOfTest());
  afterTest(() => process.chdir(savedDirectory));
  openZone();
  expect(existsSync(":memory:")).toBe(false);
});
