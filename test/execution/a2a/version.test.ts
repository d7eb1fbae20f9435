/** Which version a request is understood in. */
import { describe, expect, it } from "@jest/globals";
import {
  findOperation,
  readRequestedVersion,
  resolveVersion,
  toDialect,
} from "@sekisho/execution/a2a/version.ts";

describe("the version that a client asks for", () => {
  it.each([
    [undefined, undefined, undefined],
    ["", "", undefined],
    ["1.0", undefined, "1.0"],
    [" 1.0 ", "0.3", "1.0"],
    ["", "1.0", "1.0"],
    [undefined, "0.3", "0.3"],
  ])(
    "reads the version from the header (%j), or else from the query (%j): %j",
    (header, query, version) => {
      expect(readRequestedVersion({ header: () => header, query: () => query })).toBe(version);
    },
  );

  it.each([
    ["1.0", "message/send", "1.0"],
    ["1.0.1", "SendMessage", "1.0"],
    ["0.3", "SendMessage", "0.3"],
    ["0.3.0", "message/send", "0.3"],
    [undefined, "SendMessage", "1.0"],
    [undefined, "message/send", "0.3"],
    [undefined, "nobody/knows", "0.3"],
  ])("resolves version %j of the method %s to %s", (requestedVersion, method, version) => {
    expect(resolveVersion({ requestedVersion, method })).toBe(version);
  });

  it.each([
    "2.0",
    "1",
    "1.1",
    "0.2",
    "0.30",
    "10.0",
    "1.0, 0.3",
    "1.0-rc",
    "1.0.",
    "v1.0",
    "latest",
  ])("refuses the unknown version %s", (requestedVersion) => {
    const refusal = expect.objectContaining({ reason: "version_not_supported" });
    expect(() => resolveVersion({ requestedVersion, method: "SendMessage" })).toThrow(refusal);
  });

  it.each([
    ["1.0", "message/send"],
    ["0.3", "SendMessage"],
    ["0.3", "ListTasks"],
    ["1.0", "execute_task"],
    ["1.0", "toString"],
  ] as const)("refuses under version %s the unknown method %s", (version, method) => {
    const refusal = expect.objectContaining({ reason: "method_not_found" });
    expect(() => findOperation({ version, method })).toThrow(refusal);
  });

  it.each([
    [undefined, "a2a-0.3"],
    ["0.3.1", "a2a-0.3"],
    ["0.2", "a2a"],
    ["1.0", "a2a"],
    ["7.0", "a2a"],
  ])("writes errors for the version %j in the dialect %s", (requestedVersion, dialect) => {
    expect(toDialect(requestedVersion)).toBe(dialect);
  });
});
