import { describe, expect, it } from "@jest/globals";
import { createAuthority } from "./authority.ts";
import { parsePolicy } from "./policy.ts";

const account = "111111111111";
const role = `arn:aws:iam::${account}:role/worker`;
const key = `arn:aws:kms:eu-central-1:${account}:key/1`;

/** A key whose policy leaves `action` to the account; and a role that has the right. */
function authorityOver(more: Record<string, unknown>) {
  const allow = { Effect: "Allow", Action: "kms:Decrypt", Resource: "*" };
  const toAccount = { ...allow, Principal: { AWS: `arn:aws:iam::${account}:root` }, ...more };
  const [ofRole, ofResource] = [allow, toAccount].map((statement, index) =>
    parsePolicy({ document: { Statement: statement }, source: index === 0 ? "Role" : "Key" }),
  );
  const nothing = () => [];
  return createAuthority({
    policies: {
      ofRole: () => ofRole ?? [],
      trustOf: nothing,
      ofResource: () => ofResource ?? [],
      all: () => ofResource ?? [],
    },
  });
}

describe("a role that is created again", () => {
  const call = {
    action: "kms:Decrypt",
    resource: key,
    context: {},
    principal: { type: "role", arn: role, account },
  } as const;

  it.each([
    {
      title: "is locked out if the policy names it as principal",
      more: { Principal: { AWS: role } },
      after: false,
    },
    {
      title: "is let in if the policy names its account, and the role in a condition",
      more: { Condition: { ArnEquals: { "aws:PrincipalArn": role } } },
      after: true,
    },
  ])("a role that is created again $title", ({ more, after: newValue }) => {
    const authority = authorityOver(more);
    expect(authority.check(call).allowed).toBe(true);
    authority.recreate(role);
    expect(authority.check(call).allowed).toBe(newValue);
  });
});

describe("a resource policy that delegates to an account", () => {
  it("does not count a grant to a whole account as unused", () => {
    expect(authorityOver({}).unused()).toEqual([]);
  });

  it("counts a grant that names a role of the account as unused until that role needs it", () => {
    const authority = authorityOver({ Condition: { ArnEquals: { "aws:PrincipalArn": role } } });
    const call = { action: "kms:Decrypt", resource: key, context: {} };
    const other = `${role}-2`;
    expect(
      authority.check({ principal: { type: "role", arn: other, account }, ...call }).allowed,
    ).toBe(false);
    expect(authority.unused()).toHaveLength(1);
    expect(
      authority.check({ principal: { type: "role", arn: role, account }, ...call }).allowed,
    ).toBe(true);
    expect(authority.unused()).toEqual([]);
  });
});
