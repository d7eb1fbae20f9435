/** The names of members in params: those of the proto file are taken too, and those of the other version of A2A are refused. */
import type { A2aVersion } from "@sekisho/contracts/a2a/operations.ts";

type Issue = { path: PropertyKey[]; message: string };

/** Members that hold any JSON, whose names are the sender's own. */
const freeMembers: ReadonlySet<string> = new Set(["metadata", "data"]);

/** Members that are named differently in the other version, with their names in this one. They are refused, because they change what a request means. */
const calledHere: Record<A2aVersion, Readonly<Record<string, string>>> = {
  "1.0": {
    blocking: "returnImmediately",
    pushNotificationConfig: "taskPushNotificationConfig",
    pushNotificationConfigId: "id",
  },
  "0.3": { returnImmediately: "blocking", taskPushNotificationConfig: "pushNotificationConfig" },
};

/**
 * Renames members from their names in the proto file (`task_id`) to those in JSON (`taskId`), as a parser of ProtoJSON does
 * (A2A 1.0, section 5.5). `issues` has a member that is there by both names, and one of the other version.
 */
export function readMemberNames(request: { params: unknown; version: A2aVersion }): {
  params: unknown;
  issues: Issue[];
} {
  const issues: Issue[] = [];
  const foreign = calledHere[request.version];

  function rename(value: unknown, path: PropertyKey[]): unknown {
    if (Array.isArray(value)) return value.map((item, index) => rename(item, [...path, index]));
    if (typeof value !== "object" || value === null) return value;
    const members = Object.entries(value).map(([name, member]): [string, unknown] => {
      const jsonName = toJsonName(name);
      const at = [...path, name];
      const jsonMember = Object.hasOwn(foreign, jsonName) ? foreign[jsonName] : undefined;
      if (jsonMember !== undefined)
        issues.push({ path: at, message: `is called ${jsonMember} in A2A ${request.version}` });
      if (jsonName !== name && Object.hasOwn(value, jsonName))
        issues.push({ path: at, message: `is ${jsonName} again` });
      return [jsonName, freeMembers.has(jsonName) ? member : rename(member, at)];
    });
    return Object.fromEntries(members);
  }

  return { params: rename(request.params, []), issues };
}

function toJsonName(name: string): string {
  return name.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
