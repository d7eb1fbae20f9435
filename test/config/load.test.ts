import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "@jest/globals";
import { readEnvironment } from "@sekisho/config/environment.ts";
import { configJsonSchema } from "@sekisho/config/json-schema.ts";
import { loadConfig, parseConfig } from "@sekisho/config/load.ts";
import { toLogSettings } from "@sekisho/config/log-settings.ts";
import { readSecret } from "@sekisho/config/secrets.ts";
import { Ajv2020 } from "ajv/dist/2020.js";
import { problemsOf } from "./problems-of.ts";

const project = join(__dirname, "../..");

const stage = { verification: { account: "111111111111", region: "eu-central-1" } };
let folders: string[] = [];

afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

function directoryWith(text: string): string {
  const directory = mkdtempSync(join(tmpdir(), "sekisho-config-"));
  folders = [...folders, directory];
  writeFileSync(join(directory, "sekisho.config.json"), text);
  return directory;
}

/** Several workspaces may install the app. */
function withInstall(json: { slack?: object; [section: string]: unknown }): object {
  const install = { clientId: "1.2", clientSecret: { env: "SLACK_CLIENT_SECRET" } };
  return { ...json, slack: { ...json.slack, install } };
}

function answeredBy(answerBy: unknown) {
  return { destinations: { local: { transport: "https", questions: { answerBy } } } };
}

describe("the configuration file", () => {
  it("accepts a byte order mark at the beginning of the file", () => {
    const directory = directoryWith('\uFEFF{ "files": { "maxCount": 3 } }');
    expect(loadConfig({ directory }).files.maxCount).toBe(3);
  });

  it("uses every default for an absent or empty file, and allows nobody", () => {
    const config = loadConfig({ directory: tmpdir() });
    expect(config).toEqual(parseConfig({ json: {} }));
    expect(config.allowlist).toEqual([]);
    expect(config.routes).toEqual([{ destination: ["local"] }]);
  });

  it("checks valid parts against each other even if other parts are invalid", () => {
    const far = {
      transport: "https",
      url: "https://agents.example/",
      authorizer: { type: "none" },
    };
    const problems = problemsOf({
      allowlist: [{}],
      destinations: {
        far,
        broken: { transport: "https", url: "nonsense" },
        cloud: { transport: "agentcore", runtimeArn: "arn:aws:s3:::bucket" },
        plain: { transport: "https", url: "http://example.com/" },
      },
      routes: [
        { chanel: "C1", destination: "frr" },
        { word: "a", destination: "broken" },
        { destination: "nowhere" },
      ],
      limits: { leaseMs: "long", callTimeoutMs: 60_000 },
      usageHistory: { retentionDays: -1 },
      colour: "blue",
    });
    expect(problems.map((line) => line.replace(/(: |; ).*/, "")).sort()).toEqual([
      "allowlist[0]",
      "colour",
      "destinations.broken.url",
      "destinations.cloud.runtimeArn",
      "destinations.far.authorizer",
      "destinations.plain.url",
      "limits.leaseMs",
      "routes[0].chanel",
      "routes[0].destination",
      "routes[2].destination",
      "usageHistory.retentionDays",
    ]);
    expect(problems).toContain(
      'routes[0].destination: there is no destination "frr"; did you mean "far"?',
    );
  });

  it.each([
    ["limits", { limits: { leaseMs: "long" }, execution: { syncBudgetMs: 60_000 } }],
    [
      "execution",
      { execution: { agent: 5 }, stages: { dev: { ...stage, execution: { kind: "external" } } } },
    ],
    ["the list of destinations", { destinations: [], routes: [{ destination: "far" }] }],
  ])("reports no follow-up problem while %s is invalid", (_what, json) => {
    expect(problemsOf(json)).toHaveLength(1);
  });

  it.each([
    [{ alowlist: [] }, 'alowlist: unknown key; did you mean "allowlist"?'],
    [
      { destinations: { local: { transport: "https", deadlineMS: 1 } } },
      'destinations.local.deadlineMS: unknown key; did you mean "deadlineMs"?',
    ],
    [
      { destinations: { local: { transport: "https", runtimeArn: "x" } } },
      "destinations.local.runtimeArn: unknown key",
    ],
    [
      { execution: { agent: { type: "bedrock", modelId: "m", modlId: "m" } } },
      'execution.agent.modlId: unknown key; did you mean "modelId"?',
    ],
    [
      { allowlist: [{ team: "T1", usr: "U1" }] },
      'allowlist[0].usr: unknown key; did you mean "user"?',
    ],
    [
      { colour: "blue" },
      "colour: unknown key; choose from: $schema, slack, allowlist, files, destinations, routes, execution, asker, limits, telemetry, usageHistory, operators, stages",
    ],
    [
      { execution: { authenticator: { type: "none", tokens: [] } } },
      "execution.authenticator.tokens: unknown key; choose from: type",
    ],
    [
      { slack: { botToken: { environment: "A" } } },
      "slack.botToken.environment: unknown key; choose from: env, secretsManager",
    ],
  ])("explains the unknown key of %j", (json, line) => {
    expect(problemsOf(json)).toContain(line);
  });

  it("lists each of several unknown keys of one object with its path", () => {
    expect(problemsOf({ files: { maxByte: 1, maxCout: 2 } })).toEqual([
      'files.maxByte: unknown key; did you mean "maxBytes"?',
      'files.maxCout: unknown key; did you mean "maxCount"?',
    ]);
  });

  it("explains a malformed address, with and without credentials and a stage", () => {
    for (const authorizer of [
      { type: "none" },
      { type: "sigv4", service: "execute-api", region: "eu-west-1" },
    ]) {
      const far = { transport: "https", url: "nonsense", authorizer };
      expect(
        problemsOf({ destinations: { far }, routes: [], stages: { dev: stage } }).join(),
      ).toContain("an https URL");
    }
  });

  it.each([
    [
      { execution: { agent: "agent.ts" } },
      'execution.agent: must begin with ./, such as "./agent.ts"',
    ],
    [
      { execution: { agent: "gpt" } },
      'execution.agent: must be "echo", or the path of your agent file such as ./agent.ts',
    ],
    [
      { execution: { agent: 5 } },
      'execution.agent: must be "echo", the path of your agent file such as ./agent.ts, or',
    ],
    [
      { execution: { agent: { type: "other" } } },
      'execution.agent.type: must be one of "openai-compatible", "bedrock"',
    ],
    [{ execution: { agent: { type: "bedrock" } } }, "execution.agent.modelId: is missing"],
    [
      { slack: { command: "/sekisho" } },
      'slack.command: must be an object such as { "name": "/sekisho" }',
    ],
    [{ slack: { command: { name: "sekisho" } } }, "slack.command.name: must be a slash and a name"],
    [
      { slack: { command: { name: "/a", reply: 1 } } },
      "slack.command.reply: unknown key; choose from: name, answerIn",
    ],
    [
      { slack: { admins: ["U1"] } },
      'slack.admins[0]: must be { "user": "U…" } or { "group": "S…" }',
    ],
    ...[
      [{ allowlist: [{ team: "T1" }, { bot: "A1" }] }, "allowlist[1].team"] as const,
      [{ allowlist: [{ channel: "C1" }] }, "allowlist[0].team"] as const,
      [
        { slack: { admins: [{ team: "T1", user: "U1" }, { group: "S1" }] } },
        "slack.admins[1].team",
      ] as const,
      [answeredBy({ group: "S1" }), "destinations.local.questions.answerBy.team"] as const,
    ].map(([json, path]): [object, string] => [
      withInstall(json),
      `${path}: is missing; set the id of the workspace`,
    ]),
    [
      { slack: { botToken: { secretsManager: "not a name" } } },
      "slack.botToken.secretsManager: must be the name or ARN",
    ],
    [{ stages: { Prod: stage } }, "stages.Prod: must be up to 16 lower-case letters and digits"],
    [
      { stages: { dev: { ...stage, execution: {} } } },
      'stages.dev.execution.kind: must be one of "agentcore", "lambda", "external"',
    ],
  ])("explains in one line how to correct %j", (json, line) => {
    expect(problemsOf(json)).toEqual([expect.stringContaining(line)]);
  });

  it("refuses a secret in place of a reference to one", () => {
    expect(problemsOf({ slack: { botToken: "xoxb-1-secret" } })[0]).toContain("slack.botToken");
    const problems = problemsOf({ slack: { botToken: { env: "xoxb-1-secret" } } });
    expect(problems.join()).toContain("slack.botToken.env");
    expect(problems.join()).not.toContain("xoxb");
  });

  it("refuses a lease shorter than a call, and a visibility timeout shorter than the lease", () => {
    expect(problemsOf({ limits: { callTimeoutMs: 60_000 } }).join()).toContain("limits.leaseMs");
    expect(problemsOf({ limits: { leaseMs: 90_000 } }).join()).toContain(
      "limits.visibilityTimeoutMs",
    );
  });

  it.each([
    ["as a function", { transport: "in-process" }],
    ["without a url", { transport: "https" }],
  ])(
    "refuses a call to the local host (%s) that ends before the host answers `accepted`",
    (_how, local) => {
      const withTimes = (syncBudgetMs: number, callTimeoutMs: number) =>
        problemsOf({
          destinations: { local },
          execution: { syncBudgetMs },
          limits: { callTimeoutMs },
        });
      expect(withTimes(1349, 1500)).toEqual([]);
      expect(withTimes(1350, 1500)).toEqual([
        expect.stringMatching(
          /^execution\.syncBudgetMs: .*lower it to 1349 or less, or raise limits\.callTimeoutMs$/,
        ),
      ]);
      const far = { transport: "https", url: "http://127.0.0.1:9/" };
      const times = { execution: { syncBudgetMs: 60_000 }, limits: { callTimeoutMs: 1500 } };
      expect(problemsOf({ destinations: { far }, routes: [], ...times })).toEqual([]);
    },
  );

  it.each([
    ["as a function", { transport: "in-process" }],
    ["without a url", { transport: "https" }],
    [
      "signed",
      { transport: "https", authorizer: { type: "sigv4", service: "lambda", region: "eu-west-1" } },
    ],
  ])(
    "refuses a route to the local host (%s) without the token that the host requires",
    (_how, local) => {
      const token = { env: "TOKEN" };
      const execution = { authenticator: { type: "bearer", tokens: [token] } };
      const other = { transport: "https", authorizer: { type: "bearer", token } };
      const destinations = { local, other };
      const toLocal = [{ destination: "local" }];
      expect(problemsOf({ destinations, routes: toLocal, execution })).toEqual([
        expect.stringMatching(
          /^execution\.authenticator: .*destinations\.local, .*bearer authorizer/,
        ),
      ]);
      expect(problemsOf({ destinations, routes: [{ destination: "other" }], execution })).toEqual(
        [],
      );
      expect(problemsOf({ destinations, routes: toLocal })).toEqual([]);
    },
  );

  it("treats a foreign endpoint as not idempotent, unless it is declared", () => {
    const far = {
      transport: "https",
      url: "https://agents.example/",
      authorizer: { type: "bearer", token: { env: "TOKEN" } },
    };
    const { destinations } = parseConfig({ json: { destinations: { far }, routes: [] } });
    expect(destinations.far).toMatchObject({ idempotent: false });
  });

  it("reports a file that is not JSON", () => {
    expect(() => loadConfig({ directory: directoryWith("{ nope }") })).toThrow(/is not JSON/);
  });

  it("refuses a repeated key, and names its path", () => {
    const directory = directoryWith(
      '{ "routes": [], "limits": { "leaseMs": 1, "concurrency": 2, "leaseMs": 60000 } }',
    );
    expect(() => loadConfig({ directory })).toThrow(/limits\.leaseMs: appears more than once/);
  });

  it("reports a named file that does not exist", () => {
    expect(() => loadConfig({ directory: tmpdir(), file: "absent.json" })).toThrow(
      /cannot be read \(ENOENT\)/,
    );
  });

  it("refuses limits beyond the range of a timer, and more sends per destination than slots", () => {
    for (const limits of [
      { leaseMs: 3_000_000_000, visibilityTimeoutMs: 4_000_000_000 },
      { callTimeoutMs: 3_000_000_000 },
      { sweepAfterMs: 99_999_999_999 },
      { concurrency: 4, sendsPerDestination: 5 },
    ]) {
      expect(() => parseConfig({ json: { limits } })).toThrow(/limits\./);
    }
  });

  it("keeps the JSON Schema up to date, and accepts the project's own configuration", () => {
    const text = readFileSync(join(project, "sekisho.config.schema.json"), "utf8");
    expect(text).toBe(configJsonSchema());
    const validate = new Ajv2020({ strict: false, validateFormats: false }).compile(
      JSON.parse(text),
    );
    expect(validate(JSON.parse(readFileSync(join(project, "sekisho.config.json"), "utf8")))).toBe(
      true,
    );
    expect(validate({ colour: "blue" })).toBe(false);
    expect(loadConfig({ directory: project }).routes).toHaveLength(1);
  });
});

describe("the environment", () => {
  it("reads the ports with defaults, and names every invalid variable", () => {
    expect(readEnvironment({})).toMatchObject({ port: 3000, executionPort: 8080 });
    expect(readEnvironment({ SEKISHO_PORT: "0", SEKISHO_EXECUTION_PORT: "" })).toMatchObject({
      port: 0,
      executionPort: 8080,
    });
    expect(() =>
      readEnvironment({ SEKISHO_PORT: "http", SEKISHO_EXECUTION_PORT: "99999" }),
    ).toThrow(/SEKISHO_PORT[\s\S]*SEKISHO_EXECUTION_PORT/);
  });
});

describe("a reference to a secret", () => {
  it("reads a secret anew each time, so that a rotated secret is seen", async () => {
    process.env.SEKISHO_TEST_SECRET = "first";
    expect(await readSecret({ env: "SEKISHO_TEST_SECRET" })).toBe("first");
    process.env.SEKISHO_TEST_SECRET = "second";
    expect(await readSecret({ env: "SEKISHO_TEST_SECRET" })).toBe("second");
    delete process.env.SEKISHO_TEST_SECRET;
  });

  it("names the variable of a missing secret", async () => {
    await expect(readSecret({ env: "SEKISHO_TEST_ABSENT" })).rejects.toThrow(
      /SEKISHO_TEST_ABSENT is not set/,
    );
  });
});

const unsetValues = { logLevel: undefined, debugRatio: undefined };

describe("the log level", () => {
  it("uses the log settings of the entry if nothing is configured", () => {
    expect(toLogSettings({ environment: unsetValues })).toEqual({ level: "info", debugRatio: 0 });
    expect(toLogSettings({ environment: unsetValues, level: "warn" })).toEqual({
      level: "warn",
      debugRatio: 0,
    });
  });

  it("prefers the log settings of the environment, then those of the configuration", () => {
    const config = { level: "error", debugRatio: 0.1 } as const;
    expect(toLogSettings({ environment: unsetValues, config, level: "warn" })).toEqual(config);
    const environment = readEnvironment({
      SEKISHO_LOG_LEVEL: "debug",
      SEKISHO_LOG_DEBUG_RATIO: "0",
    });
    expect(toLogSettings({ environment, config })).toEqual({ level: "debug", debugRatio: 0 });
  });

  it.each(["0", "0.5", "1"])("accepts the debug ratio %j", (share) => {
    const environment = readEnvironment({ SEKISHO_LOG_DEBUG_RATIO: share });
    expect(toLogSettings({ environment }).debugRatio).toBe(Number(share));
  });

  it.each(["2", "-0.1", "some", "1,5"])(
    "refuses the debug ratio %j, and names the variable",
    (SEKISHO_LOG_DEBUG_RATIO) => {
      expect(() => readEnvironment({ SEKISHO_LOG_DEBUG_RATIO })).toThrow(
        "SEKISHO_LOG_DEBUG_RATIO: must be a number from 0 to 1",
      );
    },
  );
});
