import { mkdirSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "@jest/globals";
import { startListening } from "../../../lambdas/shared/http/server.ts";
import { commandHere } from "../../cli/aws/command-here.ts";
import { commandsInFolder } from "../../cli/commands-in-folder.ts";
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

const operate = (...words: string[]) => commandHere(["operate", "--store", tasks.file, ...words], {});

describe("sekisho operate", () => {
  it.each([
    [["--hostname", "0.0.0.0"]],
    [["--hostname", "ops.example.com"]],
    [["--hostname", "127.0.0.2"]],
    [["--authenticate"]],
  ])("with %j starts nothing where nothing says who may, and tells what to write", async (words) => {
    const { code, stdout, stderr } = await operate("--port", "0", ...words);
    expect({ code, stdout }).toEqual({ code: 2, stdout: "" });
    expect(stderr).toMatch(/nothing says who may.*"operators": \{ "authenticator".*ssh -L/s);
  });

  it("names the token that is missing", async () => {
    const refused = await operate("--hostname", "0.0.0.0", "--config", config);
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("OPERATORS_TOKEN is not set") });
  });

  it("takes no token that could be guessed, and does not repeat it", async () => {
    const words = ["operate", "--store", tasks.file, "--hostname", "0.0.0.0", "--config", config];
    const refused = await commandHere(words, { OPERATORS_TOKEN: "hunter2" });
    expect(refused).toMatchObject({ code: 2, stderr: expect.stringContaining("shorter than 20 characters") });
    expect(refused.stderr).not.toContain("hunter2");
  });

  it("takes platform only on loopback, for a proxy that it is told the name of", async () => {
    const platform = join(tasks.folder, "platform.json");
    writeFileSync(platform, JSON.stringify({ operators: { authenticator: { type: "platform" } } }));
    const open = await operate("--hostname", "0.0.0.0", "--config", platform);
    expect(open).toMatchObject({ code: 2, stderr: expect.stringContaining("listens on 127.0.0.1 only") });
    const nameless = await operate("--authenticate", "--config", platform);
    expect(nameless).toMatchObject({ code: 2, stderr: expect.stringContaining("needs --public-host NAME") });
  });

  it("prints an address with a token of its own on loopback, and opens to nobody without it", async () => {
    const running = start(["operate", "--store", tasks.file, "--port", "0"], {});
    await running.prints("Ctrl-C");
    const [address = "", url] = /(http:\/\/127\.0\.0\.1:\d+)\/operate\/\?token=[\w-]{43}/.exec(running.output()) ?? [];
    expect((await fetch(`${url}/operate/api/where`)).status).toBe(401);
    const entered = await fetch(address, { redirect: "manual" });
    expect(entered.headers.get("location")).toBe("/operate/");
    const cookie = entered.headers.getSetCookie()[0]?.split(";")[0] ?? "";
    expect((await fetch(`${url}/operate/api/where`, { headers: { cookie } })).status).toBe(200);
    await running.kill("SIGTERM");
  });

  it.each([
    [["--port", "http"], 2, /is no port/],
    [["--port", "70000"], 2, /is no port/],
    [["--stage", "prod"], 2, /not both/],
    [["--public-host", "ops.example.com"], 2, /needs --authenticate/],
  ])("says what is wrong with %j", async (words, code, said) => {
    expect(await operate(...words)).toMatchObject({ code, stdout: "", stderr: expect.stringMatching(said) });
  });

  it("says where tasks would be, and which port is taken", async () => {
    const missing = await commandHere(["operate", "--store", join(tasks.folder, "none.db")], {});
    expect(missing).toMatchObject({ code: 1, stderr: expect.stringContaining("There is no") });
    const other = createServer();
    const port = await startListening({ server: other, hostname: "127.0.0.1", port: 0, portSetting: "" });
    const taken = await operate("--port", String(port));
    other.close();
    expect(taken).toMatchObject({ code: 1, stderr: expect.stringContaining("choose another port (--port)") });
  });

  it("serves until it is told to stop, and asks for the token where it must", async () => {
    const token = "a-token-of-operators";
    const words = ["operate", "--store", tasks.file, "--port", "0", "--authenticate", "--config", config];
    const running = start(words, { OPERATORS_TOKEN: token });
    await running.prints("Ctrl-C");
    const [url] = /http:\/\/127\.0\.0\.1:\d+/.exec(running.output()) ?? [];
    expect((await fetch(`${url}/operate/api/where`)).status).toBe(401);
    const answer = await fetch(`${url}/operate/api/where`, { headers: { authorization: `Bearer ${token}` } });
    expect(await answer.json()).toEqual({ name: "this machine", signsIn: true });
    const { code, stdout } = await running.kill("SIGTERM");
    expect(code).toBe(0);
    expect(stdout).toMatch(/Operators' page, this machine: .*It asks for a token\..*Ctrl-C ends it\./s);
  });
});
