/** Decides calls by the policies of the templates, and remembers which permissions were used. */
import { type Call, type Decision, decide, type Principal } from "./decide.ts";
import { matches, matchesAction } from "./match.ts";
import type { Policies } from "./policies.ts";
import type { Statement } from "./policy.ts";

/** An action that a statement allows on a resource. */
export type Permission = { source: string; action: string; resource: string };

export type Authority = {
  check(call: Call): Decision;
  /** Deletes the role and creates it again, with the same name and policies. */
  recreate(roleArn: string): void;
  /** Returns the permissions of roles and resources that no call has needed so far. */
  unused(): Permission[];
};

export function createAuthority({ policies }: { policies: Policies }): Authority {
  const usedNames = new Map<Statement, Set<string>>();
  const recreated = new Set<string>();

  function check(call: Call): Decision {
    const { principal, action, resource } = call;
    const isTrust = action === "sts:AssumeRole";
    const complete = {
      ...call,
      principal:
        principal.type === "role"
          ? { ...principal, isRecreated: recreated.has(principal.arn) }
          : principal,
      context: { "aws:securetransport": "true", ...aboutCaller(principal), ...call.context },
    };
    const decision = decide({
      call: complete,
      identity: principal.type === "role" ? policies.ofRole(principal.arn) : [],
      ofResource: isTrust ? policies.trustOf(resource) : policies.ofResource(resource),
      resourceAccount:
        resource.split(":")[4] || (principal.type === "role" ? principal.account : ""),
      resourceRules: isTrust || action.startsWith("kms:"),
    });
    for (const statement of decision.allowed ? decision.by : []) {
      const keys = usedNames.get(statement) ?? new Set();
      usedNames.set(statement, keys);
      for (const key of usedKeys(statement, complete)) keys.add(key);
    }
    return decision;
  }

  return {
    check,
    recreate: (roleArn) => void recreated.add(roleArn),
    unused: () =>
      policies
        .all()
        .filter((statement) => statement.effect === "Allow" && !onlyDelegates(statement))
        .flatMap((statement) =>
          permissionsOf(statement).filter(
            (permission) => !usedNames.get(statement)?.has(keyOf(permission)),
          ),
        ),
  };
}

function aboutCaller(principal: Principal): Record<string, string> {
  if (principal.type === "service") return {};
  return {
    "aws:principalarn": principal.arn,
    "aws:principalaccount": principal.account,
    "kms:calleraccount": principal.account,
  };
}

function permissionsOf({ actions, resources, source }: Statement): Permission[] {
  return actions.flatMap((action) => resources.map((resource) => ({ source, action, resource })));
}

function usedKeys(statement: Statement, call: Call): string[] {
  return permissionsOf(statement)
    .filter(({ action }) => matchesAction({ pattern: action, action: call.action }))
    .filter(({ resource }) => matches({ pattern: resource, text: call.resource }))
    .map(keyOf);
}

/** A statement that names an account and no role allows nothing by itself: the account's own policies decide. */
function onlyDelegates({ principals, conditions }: Statement): boolean {
  if (conditions.some(({ key }) => key.toLowerCase() === "aws:principalarn")) return false;
  if (principals === undefined || principals.everyone || principals.services.length > 0)
    return false;
  return principals.aws.every((arn) => /^(\d{12}|arn:aws:iam::\d{12}:root)$/.test(arn));
}

function keyOf({ action, resource }: Permission): string {
  return `${action} ${resource}`;
}
