/** Decides whether AWS would allow a call: https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_evaluation-logic.html */
import { type Context, holds } from "./conditions.ts";
import { matches, matchesAction } from "./match.ts";
import type { Statement } from "./policy.ts";

/** `isRecreated`: the role was deleted and created again after the policies of resources were deployed. */
export type Principal =
  | { type: "role"; arn: string; account: string; isRecreated?: boolean }
  | { type: "service"; service: string };

export type Call = { principal: Principal; action: string; resource: string; context: Context };

export type Decision = { allowed: true; by: Statement[] } | { allowed: false; why: string };

/**
 * `identity` has the statements of the caller's role, `ofResource` those of the resource's policy. `resourceRules` is set for keys
 * and for roles to be assumed: no identity policy opens them alone, not even in the same account.
 */
export function decide({
  call,
  identity,
  ofResource,
  resourceAccount,
  resourceRules = false,
}: {
  call: Call;
  identity: readonly Statement[];
  ofResource: readonly Statement[];
  resourceAccount: string;
  resourceRules?: boolean;
}): Decision {
  const { principal } = call;
  const own = identity.filter((statement) => applies({ statement, call }));
  const direct = ofResource.filter(
    (statement) => names(statement, principal) && applies({ statement, call }),
  );
  const denied = [...own, ...direct].find(({ effect }) => effect === "Deny");
  if (denied !== undefined) return { allowed: false, why: `a Deny of ${denied.source}` };

  const identityAllows = own.filter(({ effect }) => effect === "Allow");
  const resourceAllows = direct.filter(({ effect }) => effect === "Allow");
  if (principal.type === "service") {
    return resourceAllows.length > 0
      ? { allowed: true, by: resourceAllows }
      : noneOf(["the resource's policy"]);
  }
  const delegations = ofResource.filter(
    (statement) =>
      statement.effect === "Allow" &&
      delegatesTo(statement, principal) &&
      applies({ statement, call }),
  );
  const isCrossAccount = principal.account !== resourceAccount;
  if (!isCrossAccount && !resourceRules) {
    const by = [...identityAllows, ...resourceAllows];
    return by.length > 0
      ? { allowed: true, by }
      : noneOf(["the role's policies", "the resource's policy"]);
  }
  if (!isCrossAccount && resourceAllows.length > 0)
    return { allowed: true, by: [...identityAllows, ...resourceAllows] };
  const missing = [
    ...(identityAllows.length === 0 ? ["the role's policies"] : []),
    ...(resourceAllows.length + delegations.length === 0 ? ["the resource's policy"] : []),
  ];
  if (missing.length > 0) return noneOf(missing);
  return { allowed: true, by: [...identityAllows, ...resourceAllows, ...delegations] };
}

/** True if the statement covers this action, resource and conditions. Principals do not count. */
function applies({
  statement,
  call,
}: {
  statement: Statement;
  call: Omit<Call, "principal">;
}): boolean {
  const { action, resource, context } = call;
  const { actions, resources, conditions } = statement;
  return (
    actions.some((pattern) => matchesAction({ pattern, action })) &&
    resources.some((pattern) => matches({ pattern, text: resource })) &&
    conditions.every((condition) => holds({ condition, context }))
  );
}

/**
 * A policy stores the id of a role that it names as principal. It does not match a role that was created again under the same name.
 * https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_principal.html#principal-roles
 */
function names({ principals }: Statement, principal: Principal): boolean {
  if (principals === undefined)
    throw new Error("A resource's policy has a statement without a principal.");
  if (principals.everyone) return true;
  return principal.type === "role"
    ? principal.isRecreated !== true && principals.aws.includes(principal.arn)
    : principals.services.includes(principal.service);
}

/** A policy that names an account leaves the decision to that account's own policies. */
function delegatesTo({ principals }: Statement, { account }: { account: string }): boolean {
  return (
    principals?.aws.some((arn) => arn === account || arn === `arn:aws:iam::${account}:root`) ===
    true
  );
}

function noneOf(places: string[]): Decision {
  return { allowed: false, why: `nothing in ${places.join(" or ")} allows it` };
}
