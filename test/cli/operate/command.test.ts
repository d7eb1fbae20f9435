import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { startListening } from "@sekisho/runtime/http/server.ts";
import { commandHere, failing } from "../aws/command-here.ts";
import { commandsInFolder } from "../commands-in-folder.ts";
import { openTasksInFile } from "./tasks-in-file.ts";

const tasks = openTasksInFile();
const config = join(tasks.folder, "operators.json");
const bearer = { type: "bearer", tokens: [{ env: "OPERATORS_TOKEN" }] };
const { start } = commandsInFolder();

beforeAll(() => {
  mkdirSync(tasks.folder, { recursive: true });
  writeFileSync(config, JSON.stringify({ operators: { authenticator: bearer } }));
});
afterAll(() => tasks.close());

const operate = (...args: string[]) => commandHere(["operate", "--store", tasks.file, ...args], {});

describe("sekisho operate", () => {
  it.each([
    [["--hostname", "0.0.0.0"]],
    [["--hostname", "ops.example.com"]],
    [["--hostname", "127.0.0.2"]],
    [["--authenticate"]],
  ])(
    "refuses the arguments %j without an authenticator, and suggests how to configure one",
    async (args) => {
      const { code, stdout, stderr } = await operate("--port", "0", ...args);
      expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
      expect(stderr).toMatch(/must say who may use it.*"operators": \{ "authenticator".*ssh -L/s);
    },
  );

  it("names the variable of a missing token", async () => {
    const refusal = await operate("--hostname", "0.0.0.0", "--config", config);
    expect(refusal).toMatchObject(failing(2, "OPERATORS_TOKEN is not set"));
  });

  it("refuses a short token, and does not repeat it", async () => {
    const args = ["operate", "--store", tasks.file, "--hostname", "0.0.0.0", "--config", config];
    const refusal = await commandHere(args, { OPERATORS_TOKEN: "hunter2" });
    expect(refusal).toMatchObject(failing(2, "shorter than 20 characters"));
    expect(refusal.stderr).not.toContain("hunter2");
  });

  it("accepts the authenticator platform only on loopback and with --public-host", async () => {
    const platform = join(tasks.folder, "platform.json");
    writeFileSync(platform, JSON.stringify({ operators: { authenticator: { type: "platform" } } }));
    const open = await operate("--hostname", "0.0.0.0", "--config", platform);
    expect(open).toMatchObject(failing(2, "must listen on 127.0.0.1"));
    const nameless = await operate("--authenticate", "--config", platform);
    expect(nameless).toMatchObject(failing(2, "needs --public-host NAME"));
  });

  it("prints a loopback address with a token, and refuses requests without it", async () => {
    const running = start(["operate", "--store", tasks.file, "--port", "0"], {});
    await running.prints("Ctrl-C");
    const [address = "", url] =
      /(http:\/\/127\.0\.0\.1:\d+)\/operate\/\?token=[\w-]{43}/.exec(running.output()) ?? [];
    expect((await fetch(`${url}/operate/api/where`)).status).toBe(401);
    const entered = await fetch(address, { redirect: "manual" });
    expect(entered.headers.get("location")).toBe("/operate/");
    const cookie = entered.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    expect((await fetch(`${url}/operate/api/where`, { headers: { cookie } })).status).toBe(200);
    await running.kill("SIGTERM");
  });

  it.each([
    [["--port", "http"], 2, /is not a port/],
    [["--port", "70000"], 2, /is not a port/],
    [["--stage", "prod"], 2, /not both/],
    [["--public-host", "ops.example.com"], 2, /needs --authenticate/],
  ])("refuses the arguments %j and explains why", async (args, code, said) => {
    expect(await operate(...args)).toMatchObject({
      code,
      stdout: "",
      stderr: expect.stringMatching(said),
    });
  });

  it("names a missing store and a port that is taken", async () => {
    const missing = await commandHere(["operate", "--store", join(tasks.folder, "none.db")], {});
    expect(missing).toMatchObject(failing(1, "There is no"));
    const other = createServer();
    const port = await startListening({
      server: other,
      hostname: "127.0.0.1",
      port: 0,
      portSetting: "",
    });
    const taken = await operate("--port", String(port));
    other.close();
    expect(taken).toMatchObject(failing(1, "choose another port (--port)"));
  });

  it("serves until SIGTERM, and requires the token with --authenticate", async () => {
    const token = "a-token-of-operators";
    const args = [
      "operate",
      "--store",
      tasks.file,
      "--port",
      "0",
      "--authenticate",
      "--config",
      config,
    ];
    const running = start(args, { OPERATORS_TOKEN: token });
    await running.prints("Ctrl-C");
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(running.output()) ?? [];
    expect((await fetch(`${url}/operate/api/where`)).status).toBe(401);
    const answer = await fetch(`${url}/operate/api/where`, {
      headers: { authorization: `Bearer ${token}` },
    });
    expect(await answer.json()).toEqual({ name: "this machine", signsIn: true });
    const { code, stdout } = await running.kill("SIGTERM");
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /Operators' page, this machine: .*The page asks for a token\..*Ctrl-C stops it\./s,
    );
  });
});
