/** `sekisho destinations set` on real files, and to a stage over real sockets. */
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, jest } from "@jest/globals";
import type { Route } from "@sekisho/config/schema.ts";
import { configFields } from "@sekisho/config/schema.ts";
import { openReplacement } from "@sekisho/sekisho/destinations/replace-file.ts";
import type { RouteKey } from "@sekisho/sekisho/destinations/route-key.ts";
import { setRoute } from "@sekisho/sekisho/destinations/set-route.ts";
import { findRoute } from "@sekisho/verification/gate/rules.ts";
import fc from "fast-check";
import { type AwsServices, startAwsServices } from "../../doubles/aws/json-services.ts";
import { pushedSettings } from "../../doubles/aws/pushed-settings.ts";
import { deploy, twoAccounts, verificationAccount } from "../aws/a-stage.ts";
import { commandHere, failing, printing } from "../aws/command-here.ts";

const text = `{
  "destinations": {
    "near": { "transport": "https" },
    "far":  { "transport": "https", "url": "http://127.0.0.1:9/" }
  },
  "routes": [
    { "channel": "C1", "destination": "far" },
    { "destination": "near" }
  ]
}
`;

let folder: string;
let file: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "sekisho-set-"));
  file = join(folder, "sekisho.config.json");
  writeFileSync(file, text);
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));
const set = (...args: string[]) =>
  commandHere(["destinations", "set", ...args, "--config", file], {});
const content = () => readFileSync(file, "utf8");

describe("sekisho destinations set", () => {
  it("changes the one matching route, shows the old and the new one, and explains what happens to tasks", async () => {
    const result = await set("near,far", "--channel", "C1");
    expect(result).toMatchObject(failing(0, "Running tasks stay where they are"));
    expect(result.stdout).toContain("route 1, channel C1: far -> near, then far");
    expect(content()).toBe(
      text.replace('"C1", "destination": "far"', '"C1", "destination": ["near", "far"]'),
    );
    expect(await set("near,far", "--channel", "C1")).toMatchObject({ code: 0, stderr: "" });
  });

  it("changes a file with a byte order mark", async () => {
    writeFileSync(file, `\uFEFF${text}`);
    expect(await set("near", "--channel", "C1")).toMatchObject({ code: 0 });
    expect(content()).toBe(
      text.replace('"C1", "destination": "far"', '"C1", "destination": "near"'),
    );
  });

  it("adds a route for a new key, and names the earlier routes that still come first", async () => {
    const result = await set("far", "--word", "deploy:");
    expect(result.stdout).toContain('+ route 2, "deploy: ...": far');
    expect(result.stderr).toContain("route 1, channel C1, comes first");
    expect(JSON.parse(content()).routes[1]).toEqual({ word: "deploy", destination: "far" });
  });

  it("writes nothing with --dry-run, for an unknown destination or for an invalid result", async () => {
    expect(await set("far", "--dry-run")).toMatchObject(printing("near -> far"));
    for (const [args, message] of [
      [["nowhere"], 'no destination "nowhere". Known: near, far.'],
      [["far,"], "separated by commas"],
      [["far", "near"], "separated by commas"],
      [["far,far"], '"far" appears more than once'],
      [["far", "--channel", "general"], "routes[1].channel"],
      [["far", "--word", "two words"], "routes[1].word"],
      [["far", "--channel", ""], "routes[1].channel"],
    ] as const) {
      expect(await set(...args)).toMatchObject(failing(2, message));
    }
    expect(content()).toBe(text);
    expect(readdirSync(folder)).toEqual(["sekisho.config.json"]);
  });

  it("refuses to create a missing configuration file", async () => {
    rmSync(file);
    const here = jest.spyOn(process, "cwd").mockReturnValue(folder);
    const result = await commandHere(["destinations", "set", "local"], {});
    here.mockRestore();
    expect(result).toMatchObject(failing(2, `There is no ${file} to change.`));
    expect(readdirSync(folder)).toEqual([]);
  });
});

describe("the file of the configuration", () => {
  it("keeps the mode of the configuration file and the link that leads to it", () => {
    chmodSync(file, 0o660);
    const link = join(folder, "link.json");
    symlinkSync(file, link);
    replace({ path: link, before: text, after: "{}" });
    expect(content()).toBe("{}");
    expect(statSync(file).mode & 0o777).toBe(0o660);
    expect(readdirSync(folder).sort()).toEqual(["link.json", "sekisho.config.json"]);
  });

  it("keeps a configuration file that someone else has changed in the meantime", () => {
    expect(() => replace({ path: file, before: "{}", after: "[]" })).toThrow(
      "changed by someone else",
    );
    expect(content()).toBe(text);
    expect(readdirSync(folder)).toEqual(["sekisho.config.json"]);
  });
});

describe("sekisho destinations set --stage", () => {
  let aws: AwsServices;
  beforeEach(async () => {
    aws = await startAwsServices({ account: verificationAccount });
    deploy({ aws, json: twoAccounts });
    writeFileSync(file, JSON.stringify(twoAccounts, undefined, 2));
  });
  afterEach(() => aws.close());

  const setInStage = (...args: string[]) =>
    commandHere(["destinations", "set", ...args, "--config", file, "--stage", "prod"], aws.env);
  const stored = async () => JSON.parse((await pushedSettings({ client: aws.table })) ?? "{}");

  it("changes the route in the file and in the stage", async () => {
    const result = await setInStage("far,local");
    expect(result).toMatchObject(printing("within a minute"));
    expect((await stored()).routes.at(-1)).toEqual({ destination: ["far", "local"] });
    expect(JSON.parse(content()).routes.at(-1)).toEqual({ destination: ["far", "local"] });
    expect(await setInStage("far,local")).toMatchObject(printing("Nothing changes."));
  });

  it("writes neither the file nor the stage with --dry-run, and shows both changes", async () => {
    const textBefore = content();
    const result = await setInStage("far", "--dry-run");
    expect(result).toMatchObject(printing("local -> far"));
    expect(result.stdout).toContain('routes[1].destination[0]: "far"');
    expect(content()).toBe(textBefore);
    expect(await stored()).toEqual({});
  });

  const authorizer = { type: "web-identity", audience: "agents" };
  const further = { transport: "https", url: "https://further.example/", authorizer };
  const withFurther = () => ({
    ...twoAccounts,
    destinations: { ...twoAccounts.destinations, further },
  });

  it("writes neither the stage nor the file if the route leads to an undeployed destination", async () => {
    const textBefore = JSON.stringify(withFurther());
    writeFileSync(file, textBefore);
    const result = await setInStage("far,further");
    expect(result).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("need a deploy first: further (a route leads"),
    });
    expect(await stored()).toEqual({});
    expect(content()).toBe(textBefore);
  });

  it("changes a route even if another, unused destination of the file needs a deploy", async () => {
    writeFileSync(file, JSON.stringify(withFurther()));
    const result = await setInStage("far");
    expect(result).toMatchObject(failing(0, "further is left out"));
    expect((await stored()).routes.at(-1)).toEqual({ destination: ["far"] });
    expect(Object.keys((await stored()).destinations)).toEqual(["local", "far"]);
    expect(JSON.parse(content()).routes.at(-1)).toEqual({ destination: "far" });
  });

  it("keeps the file if AWS refuses, and the stage if the file cannot be replaced", async () => {
    const textBefore = content();
    aws.refusals.set("dynamodb:PutItem", { status: 400, name: "AccessDeniedException" });
    expect(await setInStage("far")).toMatchObject(failing(1, "lack the permission"));
    expect(content()).toBe(textBefore);
    aws.refusals.clear();
    const storedBefore = await stored();
    writeFileSync(`${file}.${process.pid}.tmp`, "");
    const refusal = await setInStage("far");
    expect(refusal).toMatchObject(failing(1, "cannot be replaced (EEXIST)"));
    expect(await stored()).toEqual(storedBefore);
    expect(content()).toBe(textBefore);
  });
});

function replace({ path, ...texts }: { path: string; before: string; after: string }): void {
  const replacement = openReplacement({ path });
  try {
    replacement.write(texts);
  } finally {
    replacement.close();
  }
}

const destinations = Object.fromEntries(
  ["a", "b", "c", "d", "local"].map((name) => [name, { transport: "https" }]),
);

function setIn(text: string, key: RouteKey, ...destination: string[]): string {
  const { routes } = configFields.parse({ destinations, ...JSON.parse(text) });
  return setRoute({ text, routes, key, destination }).text;
}

const lines = `{
  "routes": [
    { "channel": "C1", "destination": "a" },
    { "word":"x",  "destination": ["a",
      "b"] },
    { "destination": "b" }
  ],
  "limits": {"concurrency":8}
}
`;

describe("setting a route in the text of the configuration", () => {
  it("replaces only the destination of the route, and keeps every other character", () => {
    expect(setIn(lines, { channel: "C1" }, "c")).toBe(
      lines.replace('"C1", "destination": "a"', '"C1", "destination": "c"'),
    );
    expect(setIn(lines, {}, "c", "d")).toBe(
      lines.replace('{ "destination": "b" }', '{ "destination": ["c", "d"] }'),
    );
    expect(setIn(lines, { word: "X" }, "c")).toBe(lines.replace('["a",\n      "b"]', '"c"'));
  });

  it("inserts a route before the first that would take its messages, on its own line like the others", () => {
    const put = (neighbour: string, route: string) =>
      lines.replace(neighbour, `${route},\n    ${neighbour}`);
    expect(setIn(lines, { team: "T1" }, "c")).toBe(
      put('{ "destination": "b" }', '{ "team": "T1", "destination": "c" }'),
    );
    expect(setIn(lines, { channel: "C1", word: "deploy" }, "c")).toBe(
      put('{ "channel": "C1"', '{ "channel": "C1", "word": "deploy", "destination": "c" }'),
    );
  });

  it("keeps the routes of one line in one line, and appends if no route matches every message", () => {
    const text = '{"routes": [{"channel":"C1","destination":"a"}]}';
    expect(setIn(text, { channel: "C2" }, "b")).toBe(
      '{"routes": [{"channel":"C1","destination":"a"}, { "channel": "C2", "destination": "b" }]}',
    );
    expect(setIn('{ "routes": [] }', {}, "b")).toBe('{ "routes": [{ "destination": "b" }] }');
  });

  it("writes out the default routes of a file without routes, in its own indentation", () => {
    const text = '{\n\t"allowlist": []\n}\n';
    const changed = setIn(text, { channel: "C1" }, "a", "b");
    expect(changed).toContain('\n\t"routes": [');
    expect(JSON.parse(changed)).toEqual({
      allowlist: [],
      routes: [{ channel: "C1", destination: ["a", "b"] }, { destination: "local" }],
    });
    expect(JSON.parse(setIn(text, {}, "c")).routes).toEqual([{ destination: "c" }]);
  });

  it("keeps the line endings", () => {
    const windows = lines.replaceAll("\n", "\r\n");
    expect(setIn(windows, { team: "T1" }, "c").replaceAll("\r\n", "")).not.toContain("\n");
  });

  it("routes exactly the messages that match the key and no earlier route", () => {
    const key = fc.record(
      {
        team: fc.constantFrom("T1", "T2"),
        channel: fc.constantFrom("C1", "C2"),
        word: fc.constantFrom("x", "y"),
      },
      { requiredKeys: [] },
    );
    const narrow = key.filter((each) => Object.keys(each).length > 0);
    const names = fc.uniqueArray(fc.constantFrom("a", "b", "c"), { minLength: 1 });
    const narrowRoutes = fc.array(fc.record({ key: narrow, destination: names }), { maxLength: 4 });
    const message = fc.record({
      team: fc.constantFrom("T1", "T2"),
      channel: fc.constantFrom("C1", "C2"),
      text: fc.constantFrom("x: go", "Y: go", "go"),
    });
    const last = fc.constantFrom<Route[]>([], [{ destination: ["b"] }]);
    fc.assert(
      fc.property(narrowRoutes, last, key, message, (listed, rest, wanted, values) => {
        const textBefore: Route[] = [
          ...listed.map(({ key: of, destination }) => ({ ...of, destination })),
          ...rest,
        ];
        const text = JSON.stringify({ routes: textBefore }, undefined, 2);
        const after = JSON.parse(setIn(text, wanted, "d")).routes.map(listOf);
        const place = after.findIndex(({ destination }: Route) => String(destination) === "d");
        expect(place).toBeGreaterThanOrEqual(0);
        const fits =
          findRoute({ routes: [{ ...wanted, destination: ["fits"] }], message: values }).length > 0;
        const isTaken = findRoute({ routes: after.slice(0, place), message: values }).length > 0;
        const was = findRoute({ routes: textBefore, message: values });
        expect(findRoute({ routes: after, message: values })).toEqual(
          fits && !isTaken ? ["d"] : was,
        );
      }),
    );
  });
});

function listOf(route: { destination: string | string[] }): Route {
  return { ...route, destination: [route.destination].flat() };
}
