import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import { writeConfig } from "./aws/a-stage.ts";
import { commandHere } from "./aws/command-here.ts";

const folder = mkdtempSync(join(tmpdir(), "sekisho-bundled-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function bundled(execution: object) {
  const config = writeConfig({ folder, name: "bundled.json", json: { execution } });
  return commandHere(["execution", "bundle", "--config", config, "--out", join(folder, "out")], {});
}

describe("sekisho execution bundle", () => {
  it("says that what it made will not start in a container where there is no authenticator", async () => {
    for (const execution of [{}, { authenticator: { type: "none" } }]) {
      const ended = await bundled(execution);
      expect(ended).toMatchObject({ code: 0, stderr: expect.stringContaining("no authenticator") });
    }
    expect(readdirSync(join(folder, "out")).sort()).toEqual(["agent.cjs", "config.json", "server.cjs"]);
  });

  it("says nothing more than what it made where there is one", async () => {
    const authenticator = { type: "bearer", tokens: [{ env: "AGENT_TOKEN" }] };
    expect(await bundled({ authenticator })).toMatchObject({ code: 0, stderr: "" });
  });
});
