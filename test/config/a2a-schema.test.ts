/** The host as an A2A agent, and its further paths, in the configuration. */
import { describe, expect, it } from "@jest/globals";
import { parseConfig } from "@sekisho/config/load.ts";
import { problemsOf } from "./problems-of.ts";

const skill = { id: "reports", name: "Reports", description: "Writes reports.", tags: ["report"] };
const authenticator = { type: "bearer", tokens: [{ env: "TOKEN" }] };

const problemsWith = (execution: unknown) =>
  problemsOf({ execution, destinations: {}, routes: [] });

describe("the host as an A2A agent", () => {
  it("sets a default name, and one default skill of that name", () => {
    const { a2a } = parseConfig({ json: {} }).execution;
    expect(a2a).toMatchObject({
      name: "Sekisho",
      version: "1.0.0",
      push: { allowLoopback: false },
    });
    expect(a2a.skills).toEqual([
      { id: "task", name: a2a.name, description: a2a.description, tags: ["task"] },
    ]);
    expect([a2a.url, a2a.signature, a2a.extendedSkills]).toEqual([undefined, undefined, undefined]);
  });

  it("parses its own output to the same configuration, since a stage gets the parsed one", () => {
    const json = {
      execution: {
        authenticator,
        a2a: {
          name: "Clerk",
          extendedSkills: [skill],
          signature: { key: { env: "KEY" }, keyId: "1" },
        },
        dialects: { "/vapora": "vapora" },
      },
      destinations: {},
      routes: [],
    };
    const config = parseConfig({ json });
    expect(parseConfig({ json: JSON.parse(JSON.stringify(config)) })).toEqual(config);
    expect(config.execution.a2a.signature?.algorithm).toBe("ES256");
  });

  it("lists all invalid fields of a card at once", () => {
    const problems = problemsWith({
      a2a: {
        url: "http://agents.example/",
        name: " ",
        skills: [{ ...skill, tags: [], description: "" }],
        provider: { organization: "Example" },
        signature: { key: "-----BEGIN PRIVATE KEY-----", keyId: "", algorithm: "HS256" },
        colour: "blue",
      },
    });
    expect(problems).toEqual([
      expect.stringContaining("execution.a2a.url: must be an https URL"),
      "execution.a2a.name: must not be empty",
      "execution.a2a.skills[0].description: must not be empty",
      "execution.a2a.skills[0].tags: must have at least one tag",
      expect.stringContaining("execution.a2a.provider.url: "),
      expect.stringMatching(
        /^execution\.a2a\.signature\.key: must be a reference such as .*, never the secret itself$/,
      ),
      "execution.a2a.signature.keyId: must not be empty",
      expect.stringContaining("execution.a2a.signature.algorithm: "),
      "execution.a2a.colour: unknown key",
    ]);
    expect(problems.join()).not.toContain("BEGIN");
  });

  it("refuses two skills of one id, in the public and the extended card together", () => {
    const problem = (path: string) =>
      expect.stringContaining(`execution.a2a.${path}: another skill has the id "reports"`);
    expect(
      problemsWith({ authenticator, a2a: { skills: [skill, skill], extendedSkills: [skill] } }),
    ).toEqual([problem("skills[1].id"), problem("extendedSkills[0].id")]);
  });

  it("requires an authenticator of callers for an extended card", () => {
    expect(problemsWith({ a2a: { extendedSkills: [skill] } })).toEqual([
      expect.stringMatching(/^execution\.a2a\.extendedSkills: .*choose another authenticator$/),
    ]);
    expect(problemsWith({ authenticator, a2a: { extendedSkills: [skill] } })).toEqual([]);
  });

  it("requires an address for callers of the A2A agent", () => {
    const callers = ["arn:aws:iam::333333333333:role/a-client"];
    expect(problemsWith({ a2a: { callers } })).toEqual([
      expect.stringContaining("execution.a2a.callers: "),
    ]);
    expect(problemsWith({ a2a: { callers, url: "https://agents.example/" } })).toEqual([]);
  });

  it("requires no address for callers of a runtime whose protocol is A2A", () => {
    const callers = ["arn:aws:iam::333333333333:role/a-client"];
    const stageOf = (protocol: string) => ({
      verification: { account: "111111111111", region: "eu-central-1" },
      execution: { kind: "agentcore", protocol },
    });
    const problems = (protocol: string) =>
      problemsOf({ execution: { a2a: { callers } }, stages: { dev: stageOf(protocol) } });
    expect(problems("a2a")).toEqual([]);
    expect(problems("http")).toEqual([expect.stringContaining("execution.a2a.callers: ")]);
  });
});

describe("a further path of the host", () => {
  it.each(["/vapora", "/agents/clever.agents", "/a2a/v1"])(
    "accepts the further path %s of the host",
    (path) => {
      expect(
        parseConfig({ json: { execution: { dialects: { [path]: "vapora" } } } }).execution.dialects,
      ).toEqual({
        [path]: "vapora",
      });
    },
  );

  it.each(["/", "/a2a", "/invocations", "/ping", "/healthz", "/openrpc.json"])(
    "refuses the path %s, which the host serves already",
    (path) => {
      expect(problemsWith({ dialects: { [path]: "vapora" } })).toEqual([
        expect.stringContaining(
          `execution.dialects["${path}"]: is a path that the host already serves`,
        ),
      ]);
    },
  );

  it.each([
    "vapora",
    "/vapora/",
    "//vapora",
    "/a/../b",
    "/.well-known/agent-card.json",
    "/a?b=c",
    "/a b",
    "",
  ])("refuses the path %j, which no request can name", (path) => {
    expect(problemsWith({ dialects: { [path]: "vapora" } }).join()).toContain(
      'a path such as "/vapora"',
    );
  });

  it("refuses an unknown dialect", () => {
    expect(problemsWith({ dialects: { "/x": "esperanto" } }).join()).toContain(
      'execution.dialects["/x"]: ',
    );
  });
});
