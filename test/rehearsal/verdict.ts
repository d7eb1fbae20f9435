/** What a rehearsal found out about permissions, as lines for people. */
import { type IamException, iamExceptions } from "../../lib/cdk/iam-exceptions.ts";
import type { Permission } from "./iam/authority.ts";
import { matches, matchesAction } from "./iam/match.ts";

/** Permissions that nobody used and nobody explains. */
export function unexplained({
  unused,
  exceptions = iamExceptions,
}: {
  unused: readonly Permission[];
  exceptions?: readonly IamException[];
}): string[] {
  return unused
    .filter((permission) => !exceptions.some((exception) => explains(exception, permission)))
    .map(({ source, action, resource }) => `${source} allows ${action} on ${resource}, which no story needed.`);
}

function explains({ action, resource = "*" }: IamException, permission: Permission): boolean {
  return (
    matchesAction({ pattern: action, action: permission.action }) &&
    matches({ pattern: resource, text: permission.resource })
  );
}
