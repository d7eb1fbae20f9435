/** Systems Manager's parameters, with all their versions. */
import { AwsCallError } from "@sekisho/runtime/aws/retry.ts";
import type { Ssm } from "@sekisho/verification/config/former-settings.ts";
import { json, jsonError } from "./json-services-wire.ts";

type Version = { value: string; user: string };

export type Parameters = ReturnType<typeof createParameters>;

/** A client in this process, in place of our own. */
export function openParameters(parameters: Pick<Parameters, "handle">): Ssm {
  return {
    async call(operation, input) {
      const response = parameters.handle(operation, { ...input });
      const body = (await response.json()) as object;
      if (!response.ok)
        throw new AwsCallError({ name: String(Object(body).__type), status: response.status });
      return body;
    },
  };
}

/** Systems Manager keeps this many versions. */
const maxVersions = 100;

/** Serves GetParameter and GetParameterHistory, which are all that the product calls. */
export function createParameters() {
  /** By name. The version of an entry is its position and 1, plus the number of dropped versions. */
  const all = new Map<string, { versions: Version[]; dropped: number }>();
  const failure = (name: string, message: string) => jsonError({ status: 400, name, message });

  function history(name: string) {
    const { versions, dropped } = all.get(name) ?? { versions: [], dropped: 0 };
    return versions.map(({ value, user }, index) => ({
      Name: name,
      Type: "String",
      Value: value,
      Version: dropped + index + 1,
      LastModifiedUser: user,
      LastModifiedDate: 1_790_000_000 + index,
      Tier: "Standard",
    }));
  }

  return {
    /** Writes another version, also where the value is the same, as `Overwrite` does. `user` is an ARN. */
    put({ name, value, user }: { name: string } & Version): void {
      const entry = all.get(name) ?? { versions: [], dropped: 0 };
      all.set(name, entry);
      entry.versions.push({ value, user });
      if (entry.versions.length <= maxVersions) return;
      entry.versions.shift();
      entry.dropped += 1;
    },
    remove: (name: string): boolean => all.delete(name),
    valueOf: (name: string): string | undefined => all.get(name)?.versions.at(-1)?.value,
    handle(action: string, input: Record<string, unknown>): Response {
      const name = String(input.Name);
      const versions = history(name);
      const last = versions.at(-1);
      if (last === undefined) return failure("ParameterNotFound", name);
      if (action === "GetParameter") {
        const { LastModifiedUser: _onlyInHistory, Tier: _too, ...Parameter } = last;
        return json({ Parameter });
      }
      if (action !== "GetParameterHistory") return failure("InvalidAction", action);
      const { MaxResults = 50, NextToken = "0" } = input;
      if (Number(MaxResults) > 50) return failure("ValidationException", "MaxResults");
      const start = Number(NextToken);
      // A page may have fewer than the wanted number, and the token of the last page may be empty.
      const end = start + Math.max(1, Number(MaxResults) - 1);
      return json({
        Parameters: versions.slice(start, end),
        NextToken: end < versions.length ? String(end) : "",
      });
    },
  };
}
