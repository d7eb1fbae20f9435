/** The command line as a process: what it lists, starts and refuses before it does anything. */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  copyFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { text as readText } from "node:stream/consumers";
import { describe, expect, it } from "@jest/globals";
import { freePort } from "@sekisho/local/free-port.ts";
import { failureText } from "@sekisho/verification/slack/messages/failure-text.ts";
import { writeConfig } from "./aws/a-stage.ts";
import { commandHere, failing, printing, refusing } from "./aws/command-here.ts";
import { commandsInFolder } from "./commands-in-folder.ts";

const { folder, run, start } = commandsInFolder();

describe("the sekisho command", () => {
  it("lists every command, and explains each with --help", async () => {
    const overview = await run(["--help"]);
    expect(overview.code).toBe(0);
    const names = [...overview.stdout.matchAll(/^ {2}(\S+(?: \S+)?) {2}/gm)].map(
      ([, name = ""]) => name,
    );
    expect(names).toEqual(
      expect.arrayContaining(["start", "tasks list", "destinations set", "data delete", "operate"]),
    );
    for (const name of names) {
      const help = await commandHere([...name.split(" "), "--help"], {});
      expect({ name, ...help }).toMatchObject({ name, code: 0, stderr: "" });
      expect(help.stdout).toMatch(new RegExp(`^sekisho ${name}( |\n)`));
    }
  });

  it("exits with 2 and explains what is wrong with the arguments", async () => {
    for (const [args, text] of [
      [["nonsense"], 'no command "nonsense"'],
      [["start", "--loud"], "--loud"],
      [["send"], "Give one text"],
      [["send", "hi", "--destination", "nowhere"], 'no destination "nowhere"'],
      [["execution", "bundle"], "--out is missing"],
      [["execution", "--port", "http"], '"http" is not a port number'],
      [["execution", "--agent", "./nothing.ts", "--port", "0"], "does not exist"],
      [["verification"], "Neither SLACK_APP_TOKEN nor SLACK_SIGNING_SECRET is set"],
    ] as const) {
      const result = await run([...args]);
      expect({ args, ...result }).toMatchObject({ args, code: 2 });
      expect(result.stderr).toContain(text);
    }
  });

  it.each(["config", "secrets", "dead-letters", "tasks"])(
    "lists the commands that begin with %s without a second word",
    async (word) => {
      const result = await commandHere([word], {});
      expect(result).toMatchObject({ code: 2, stdout: "" });
      expect(result.stderr).toContain(`  ${word} `);
      expect(result.stderr).not.toContain("  start ");
      expect(await commandHere([word, "--help"], {})).toMatchObject({ code: 0, stderr: "" });
      const unknown = expect.stringContaining(`no command "${word} nonsense"`);
      expect(await commandHere([word, "nonsense"], {})).toMatchObject({ code: 2, stderr: unknown });
    },
  );

  it("exits with 0 and without an error after its output was closed (`| head`)", async () => {
    const child = spawn(process.execPath, ["bin/sekisho.mjs", "--help"], {
      stdio: ["ignore", "pipe", "pipe"],
    });
    child.stdout.destroy();
    const [said, [code]] = await Promise.all([readText(child.stderr), once(child, "exit")]);
    expect(said).not.toContain("EPIPE");
    expect(code).toBe(0);
  });
});

describe("sekisho manifest", () => {
  it("prints the manifest with the address at which Slack reaches the Verification zone", async () => {
    const { code, stdout } = await run([
      "manifest",
      "--url",
      "https://tunnel.example",
      "--name",
      "Checkpoint",
    ]);
    expect(code).toBe(0);
    const { display_information, settings } = JSON.parse(stdout);
    expect(display_information.name).toBe("Checkpoint");
    expect(settings.event_subscriptions.request_url).toBe("https://tunnel.example/slack/events");
    expect((await run(["manifest", "--url", "http://tunnel.example"])).code).toBe(2);
  });

  it("prints the link to Slack's form with the same manifest beside it", async () => {
    const { stdout, stderr } = await run(["manifest", "--socket", "--open"]);
    const [link = ""] = /https:\/\/api\.slack\.com\/apps\?\S+/.exec(stderr) ?? [];
    const { searchParams } = new URL(link);
    expect(searchParams.get("new_app")).toBe("1");
    const linked = JSON.parse(searchParams.get("manifest_json") ?? "");
    expect(linked).toEqual(JSON.parse(stdout));
    expect((await run(["manifest", "--socket"])).stderr).toBe("");
    // Slack would make an app that sends its events to nobody.
    expect((await run(["manifest", "--open"])).stderr).not.toContain("manifest_json");
  });

  it("requires --url or --stage for the redirect address of an installation flow", async () => {
    const install = { clientId: "12.34", clientSecret: { env: "SLACK_CLIENT_SECRET" } };
    const file = writeConfig({ folder, name: "install.json", json: { slack: { install } } });
    for (const args of [[], ["--socket"]]) {
      const result = await commandHere(["manifest", "--config", file, ...args], {});
      expect(result).toMatchObject(refusing(2, "Give --url or --stage"));
    }
    const { stdout } = await commandHere(
      ["manifest", "--config", file, "--socket", "--url", "https://t.example"],
      {},
    );
    expect(JSON.parse(stdout).oauth_config.redirect_urls).toEqual([
      "https://t.example/slack/oauth_redirect",
    ]);
  });
});

describe("sekisho manifest of a stage", () => {
  it("suggests --url if there are no AWS credentials", async () => {
    const dev = { verification: { account: "111111111111", region: "eu-central-1" } };
    const file = writeConfig({ folder, name: "stage.json", json: { stages: { dev } } });
    const env = {
      AWS_EC2_METADATA_DISABLED: "true",
      HOME: folder,
      AWS_ENDPOINT_URL: "http://127.0.0.1:1",
    };
    const result = await commandHere(["manifest", "--config", file], env);
    expect(result).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/no AWS credentials.*, or give --url\.$/m),
    });
  });
});

describe("sekisho start", () => {
  it("--once runs one task through the fake Slack, prints the answer and exits with 0", async () => {
    const result = await run(["start", "--once", "What is a <sekisho> & why?"]);
    expect(result).toMatchObject({ code: 0, stderr: "" });
    expect(result.stdout).toContain("What is a <sekisho> & why?");
  });

  it("--once exits with 1 when the task fails", async () => {
    const result = await run(["start", "--once", "fail"]);
    expect(result.code).toBe(1);
    expect(result.stdout).toContain(
      failureText({ reason: "execution_failed", lost: false, locale: "en" }).happened,
    );
  });

  it("shows its addresses, serves the page, and stops cleanly on SIGINT and SIGTERM", async () => {
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      const ports = {
        SEKISHO_PORT: String(await freePort()),
        SEKISHO_EXECUTION_PORT: String(await freePort()),
      };
      const process = start(["start"], ports);
      await process.prints(`Execution zone:    http://127.0.0.1:${ports.SEKISHO_EXECUTION_PORT}`);
      await process.prints("Ctrl-C");
      const url = `http://127.0.0.1:${ports.SEKISHO_PORT}/`;
      expect((await fetch(url)).status).toBe(401);
      const [, query = ""] = /Local page: +\S+\/(\?token=[\w-]{43})/.exec(process.output()) ?? [];
      const entered = await fetch(`${url}${query}`, { redirect: "manual" });
      const cookie = entered.headers.getSetCookie()[0]?.split(";")[0] ?? "";
      const page = await fetch(url, { headers: { cookie } });
      expect(page.status).toBe(200);
      expect(await page.text()).toContain("<title>");
      expect(await process.kill(signal)).toMatchObject({ code: 0, stderr: "" });
    }
  });

  it("loads the agent beside the configuration that names it, from any working directory", async () => {
    const beside = join(folder, "beside");
    mkdirSync(beside);
    writeFileSync(
      join(beside, "config.json"),
      JSON.stringify({ execution: { agent: "./own.ts" } }),
    );
    writeFileSync(
      join(beside, "own.ts"),
      'export async function* agent() { yield { type: "answer", text: "from beside" }; }\n',
    );
    const result = await run(["start", "--once", "hello", "--config", "beside/config.json"]);
    expect(result).toMatchObject(printing("from beside"));
  });

  it("names the port that is taken and how to change it", async () => {
    const ports = {
      SEKISHO_PORT: String(await freePort()),
      SEKISHO_EXECUTION_PORT: String(await freePort()),
    };
    const first = start(["start"], ports);
    await first.prints("Ctrl-C");
    const elsewhere = join(folder, "elsewhere");
    mkdirSync(elsewhere);
    const result = await run(["start"], { ...ports, SEKISHO_EXECUTION_PORT: "0" }, elsewhere);
    expect(result.code).toBe(1);
    expect(result.stderr).toContain(`Port ${ports.SEKISHO_PORT} is already in use by`);
    expect(result.stderr).toContain("SEKISHO_PORT");
  });

  it("refuses a folder in use by another start on any port, until that one has ended, even by SIGKILL", async () => {
    const anyPort = { SEKISHO_PORT: "0", SEKISHO_EXECUTION_PORT: "0" };
    const first = start(["start"], anyPort);
    await first.prints("Ctrl-C");
    const second = await run(["start"], anyPort);
    expect(second.code).toBe(1);
    expect(second.stderr).toContain("Another `sekisho start` uses");
    await first.kill("SIGKILL");
    const third = start(["start"], anyPort);
    await third.prints("Ctrl-C");
  });

  it("turns the page off and prints the manifest when the secrets of a Slack app are set", async () => {
    const secrets = {
      SLACK_SIGNING_SECRET: "a-signing-secret-of-this-test",
      SLACK_BOT_TOKEN: "xoxb-a-token-of-this-test",
    };
    const port = await freePort();
    const process = start(["start"], {
      ...secrets,
      SEKISHO_PORT: String(port),
      SEKISHO_EXECUTION_PORT: "0",
    });
    await process.prints("allowlist");
    expect(process.output()).toContain("tunnel");
    expect(process.output()).toContain('"app_mention"');
    expect((await fetch(`http://127.0.0.1:${port}/`)).status).toBe(404);
    expect(
      (await fetch(`http://127.0.0.1:${port}/slack/events`, { method: "POST", body: "{}" })).status,
    ).toBe(401);
    const { stdout, stderr } = await process.kill("SIGTERM");
    for (const secret of Object.values(secrets)) expect(stdout + stderr).not.toContain(secret);
  });

  it("refuses a bot token without a signing secret or app token", async () => {
    const result = await run(["start"], { SLACK_BOT_TOKEN: "xoxb-a-token-of-this-test" });
    expect(result.code).toBe(2);
    expect(result.stderr).toContain("Neither SLACK_APP_TOKEN nor SLACK_SIGNING_SECRET is set");
  });
});

describe("sekisho execution with a task under way", () => {
  it.each([
    [
      "takes one Ctrl-C that arrives twice (from the terminal and from npm) as one, and ends cleanly",
      0,
      0,
    ],
    ["ends at once for a person who presses Ctrl-C again", 800, 130],
  ])("sekisho execution %s", async (_what, pauseMs, code) => {
    const port = String(await freePort());
    const execution = start(["execution", "--port", port, "--store", join(folder, `${code}.db`)]);
    await execution.prints("Execution zone:");
    start(["send", "slow 60s"], { SEKISHO_EXECUTION_PORT: port });
    await execution.prints("task_started");
    execution.child.kill("SIGINT");
    await new Promise((resolve) => setTimeout(resolve, pauseMs));
    execution.child.kill("SIGINT");
    // On a busy machine both may be seen at once: then the person presses once more.
    const again =
      pauseMs === 0 ? undefined : setInterval(() => execution.child.kill("SIGINT"), pauseMs);
    expect((await execution.exited).code).toBe(code);
    clearInterval(again);
  });
});

describe("sekisho send", () => {
  it("sends one task to a running Execution zone and shows the progress of a slow one", async () => {
    const port = String(await freePort());
    const config = writeConfig({
      folder,
      name: "short.json",
      json: { execution: { syncBudgetMs: 100 } },
    });
    const execution = start([
      "execution",
      "--port",
      port,
      "--store",
      join(folder, "e.db"),
      "--config",
      config,
    ]);
    await execution.prints("Execution zone:");
    const env = { SEKISHO_EXECUTION_PORT: port };
    expect(await run(["send", "hello"], env)).toMatchObject(printing("hello"));
    const slow = await run(["send", "slow 2s progress"], env);
    expect(slow.code).toBe(0);
    expect(slow.stderr).toMatch(/%/);
    const failed = await run(["send", "fail", "--json"], env);
    expect(failed.code).toBe(1);
    expect(JSON.parse(failed.stdout)).toMatchObject({ error: { reason: "execution_failed" } });
    const ok = await run(["send", "hello", "--json"], env);
    expect(JSON.parse(ok.stdout)).toMatchObject({ status: "success" });
  });

  it("cancels the task on SIGINT", async () => {
    const port = String(await freePort());
    const execution = start(["execution", "--port", port, "--store", join(folder, "c.db")]);
    await execution.prints("Execution zone:");
    const sending = start(["send", "slow 60s"], { SEKISHO_EXECUTION_PORT: port });
    await execution.prints("task_started");
    expect((await sending.kill("SIGINT")).code).toBe(130);
    await execution.prints('"reason":"canceled"');
  });

  it("exits with 3 and says what to start if nothing is listening", async () => {
    const result = await run(["send", "hello"], {
      SEKISHO_EXECUTION_PORT: String(await freePort()),
    });
    expect(result.code).toBe(3);
    expect(result.stderr).toContain("npx --no-install sekisho execution");
  });

  it("needs no server for a destination in its own process", async () => {
    const config = writeConfig({
      folder,
      name: "same.json",
      json: {
        destinations: { here: { transport: "in-process" } },
        routes: [{ destination: "here" }],
      },
    });
    expect(await run(["send", "hello", "--config", config])).toMatchObject(printing("hello"));
  });
});

/** What starts before any package or TypeScript file is needed. */
function copyEntryTo(directory: string): void {
  for (const name of ["sekisho.mjs", "package.mjs", "pinned-node.mjs"]) {
    copyFileSync(join(__dirname, "../../bin", name), join(directory, name));
  }
}

describe("an older Node", () => {
  const older =
    'data:text/javascript,Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.1.0" } });';
  const runEntry = (entry: string, args: string[]) =>
    spawnSync(process.execPath, ["--import", older, entry, ...args], {
      encoding: "utf8",
      cwd: folder,
    });

  it("an older Node runs the command by the pinned Node", () => {
    const result = runEntry(join(__dirname, "../../bin/sekisho.mjs"), [
      "config",
      "check",
      "--loud",
    ]);
    expect(result.stderr).toContain("--loud");
    expect(result.status).toBe(2);
  });

  it("an older Node without the pinned one prints one line about what to install", () => {
    const alone = join(folder, "installed", "bin");
    mkdirSync(alone, { recursive: true });
    mkdirSync(join(folder, "installed", "node_modules"));
    copyEntryTo(alone);
    const result = runEntry(join(alone, "sekisho.mjs"), ["start"]);
    expect(result.stderr.trim().split("\n")).toHaveLength(1);
    expect(result.stderr).toContain("22.19");
    expect(result.status).toBe(2);
  });

  it.each(["sekisho.mjs", "package.mjs"])("suggests npm ci for %s in a fresh clone", (name) => {
    const alone = join(folder, "fresh", "bin");
    mkdirSync(alone, { recursive: true });
    copyEntryTo(alone);
    for (const node of [[], ["--import", older]]) {
      const args = [...node, join(alone, name), "start"];
      const result = spawnSync(process.execPath, args, { encoding: "utf8", cwd: folder });
      expect(result.stderr.trim().split("\n")).toEqual([expect.stringContaining("npm ci")]);
      expect(result.status).toBe(2);
    }
  });

  it("suggests npm ci for a clone that lacks a package", () => {
    const clone = join(folder, "partial");
    mkdirSync(join(clone, "bin", "release"), { recursive: true });
    mkdirSync(join(clone, "node_modules"));
    copyEntryTo(join(clone, "bin"));
    writeFileSync(join(clone, "bin/release/package.ts"), 'import "nowhere-installed";');
    const args = [join(clone, "bin/package.mjs"), "packages"];
    const result = spawnSync(process.execPath, args, { encoding: "utf8", cwd: clone });
    expect(result.stderr).toMatch(/^The package nowhere-installed .*npm ci.*\n$/);
    expect(result.status).toBe(2);
  });
});

function check(json: unknown) {
  const file = writeConfig({ folder, name: "checked.json", json });
  return commandHere(["config", "check", "--config", file], {});
}

describe("sekisho --version", () => {
  it("prints the version, for a report of an error", async () => {
    const { version } = JSON.parse(readFileSync(join(__dirname, "../../package.json"), "utf8"));
    expect(await run(["--version"])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining(`sekisho ${version}, Node `),
    });
  });
});

describe("sekisho config check", () => {
  it("reports that every default is in effect for a folder without a configuration file", async () => {
    const result = await run(["config", "check"]);
    expect(result.code).toBe(0);
    const text = `There is no sekisho.config.json in ${realpathSync(folder)}, so every default is in effect.`;
    expect(result.stdout).toContain(text);
  });

  it("prints the file that it read, the configured agent, and the place of each stage", async () => {
    const verification = { account: "333333333333", region: "eu-central-1" };
    const result = await check({
      execution: { agent: { type: "bedrock", modelId: "eu.a-model" } },
      stages: {
        dev: { verification },
        prod: {
          verification,
          execution: { kind: "lambda", account: "222222222222" },
          alarmEmail: "a@example.org",
        },
      },
    });
    expect(result.code).toBe(0);
    for (const text of [
      join(folder, "checked.json"),
      "Agent: bedrock, eu.a-model.",
      "Stage dev: Verification in 333333333333, eu-central-1; Execution agentcore in 333333333333, eu-central-1.",
      "Execution lambda in 222222222222, eu-central-1.",
    ]) {
      expect(result.stdout).toContain(text);
    }
    expect(result.stderr).toContain("the alarms of stage dev notify nobody. Set alarmEmail");
    expect(result.stderr).not.toContain("stage prod");
  });

  it("warns about the example account", async () => {
    const result = await check({
      stages: { dev: { verification: { account: "111111111111", region: "eu-central-1" } } },
    });
    expect(result).toMatchObject({
      code: 0,
      stderr: expect.stringContaining("stage dev has the example account"),
    });
  });

  it("lists the missing secrets of Slack: the client secret with an installation flow, else the bot token", async () => {
    const byHand = await check({});
    expect(byHand.stderr).toContain("SLACK_BOT_TOKEN is not set here");
    expect(byHand.stderr).toContain("The allowlist is empty");
    const byFlow = await check({
      slack: { install: { clientId: "1.2", clientSecret: { env: "SLACK_CLIENT_SECRET" } } },
    });
    expect(byFlow.stderr).toContain("SLACK_CLIENT_SECRET is not set here");
    expect(byFlow.stderr).not.toContain("SLACK_BOT_TOKEN");
  });

  it("reports that no route leads to the agent if all lead to other Execution zones", async () => {
    const far = { transport: "https", url: "http://127.0.0.1:9/" };
    const destinations = { far, here: { transport: "in-process" }, own: { transport: "https" } };
    const agentOf = async (routes: object[], more: object = {}) =>
      /^Agent: .*/m.exec((await check({ destinations, routes, ...more })).stdout)?.[0];
    const stages = { dev: { verification: { account: "111111111111", region: "eu-central-1" } } };
    expect(await agentOf([{ destination: "far" }])).toBe("Agent: echo, to which no route leads.");
    expect(
      await agentOf([{ channel: "C012AB3CD", destination: "far" }, { destination: "here" }]),
    ).toBe("Agent: echo.");
    expect(await agentOf([{ destination: ["far", "own"] }])).toBe("Agent: echo.");
    expect(await agentOf([{ destination: "far" }], { stages })).toBe("Agent: echo.");
  });
});

describe("a command", () => {
  it.each([
    ["send", "hi"],
    ["execution", "--port", "0"],
    ["start", "--once", "hi"],
  ])(
    "exits with 2 when the agent file of the configuration cannot be used (%s)",
    async (...args) => {
      writeFileSync(join(folder, "empty.ts"), "export {};");
      for (const [agent, text] of [
        ["./nothing.ts", "nothing.ts does not exist"],
        ["./empty.ts", 'does not export a function "agent"'],
      ] as const) {
        const destinations = { here: { transport: "in-process" } };
        const config = writeConfig({
          folder,
          name: "agent.json",
          json: { destinations, routes: [{ destination: "here" }], execution: { agent } },
        });
        const result = await run([...args, "--config", config]);
        expect(result).toMatchObject(failing(2, text));
      }
    },
  );

  it.each(["execution --port 0", "start", "start --once hi"])(
    "exits with 2 when a token that authenticates callers is not set (%s)",
    async (args) => {
      const authenticator = {
        type: "bearer",
        tokens: [{ env: "OLD_TOKEN" }, { env: "NEW_TOKEN" }],
      };
      const config = writeConfig({
        folder,
        name: "tokens.json",
        json: { routes: [], execution: { authenticator } },
      });
      const result = await run([...args.split(" "), "--config", config], { OLD_TOKEN: "t" });
      expect(result).toMatchObject(failing(2, "NEW_TOKEN is not set"));
      const short = await run([...args.split(" "), "--config", config], {
        OLD_TOKEN: "hunter2",
        NEW_TOKEN: "t",
      });
      expect(short).toMatchObject(failing(2, "OLD_TOKEN is shorter than 20 char"));
      expect(short.stderr).not.toContain("hunter2");
    },
  );

  it("exits with 2 and names the variable when the token of the destination is not set", async () => {
    const authorizer = { type: "bearer", token: { env: "AGENTS_TOKEN" } };
    const destinations = { far: { transport: "https", url: "https://127.0.0.1:9/", authorizer } };
    const config = writeConfig({
      folder,
      name: "token.json",
      json: { destinations, routes: [{ destination: "far" }] },
    });
    const result = await run(["send", "hello", "--config", config]);
    expect(result).toMatchObject(failing(2, "AGENTS_TOKEN is not set"));
    expect((await run(["send", "hello", "--config", config], { AGENTS_TOKEN: "t" })).code).toBe(3);
  });
});

describe("sekisho verification", () => {
  const env = {
    SLACK_SIGNING_SECRET: "a-signing-secret-of-this-test",
    SLACK_BOT_TOKEN: "xoxb-a-token-of-this-test",
  };
  const destinations = { local: { transport: "https" }, here: { transport: "in-process" } };
  const withRoutesTo = (...names: string[]) => {
    const config = join(folder, `${names.join("-")}.json`);
    const routes = names.map((destination, index) => ({ channel: `C${index}`, destination }));
    writeFileSync(config, JSON.stringify({ destinations, routes }));
    return ["verification", "--port", "0", "--store", join(folder, "v.db"), "--config", config];
  };

  it("sekisho verification refuses a route to a host in its own process", async () => {
    const result = await run(withRoutesTo("local", "here"), env);
    expect(result).toMatchObject(failing(2, 'The route to "here" needs'));
  });

  it("sekisho verification accepts an in-process destination if no route uses it", async () => {
    const verification = start(withRoutesTo("local"), env);
    await verification.prints("Verification zone:");
    expect((await verification.kill("SIGTERM")).code).toBe(0);
  });
});

function bundled(execution: object) {
  const config = writeConfig({ folder, name: "bundled.json", json: { execution } });
  return commandHere(["execution", "bundle", "--config", config, "--out", join(folder, "out")], {});
}

describe("sekisho execution bundle", () => {
  it("warns that the bundle does not start in a container without an authenticator", async () => {
    for (const execution of [{}, { authenticator: { type: "none" } }]) {
      const result = await bundled(execution);
      expect(result).toMatchObject(failing(0, "no authenticator"));
    }
    expect(readdirSync(join(folder, "out")).sort()).toEqual([
      "THIRD-PARTY-NOTICES.txt",
      "agent.cjs",
      "aws-credentials.cjs",
      "config.json",
      "server.cjs",
    ]);
  });

  it("prints no warning for a bundle with an authenticator", async () => {
    const authenticator = { type: "bearer", tokens: [{ env: "AGENT_TOKEN" }] };
    expect(await bundled({ authenticator })).toMatchObject({ code: 0, stderr: "" });
  });
});
