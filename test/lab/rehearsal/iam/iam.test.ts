import { describe, expect, it } from "@jest/globals";
import { type Call, decide, type Principal } from "./decide.ts";
import { matches, matchesArn } from "./match.ts";
import { parsePolicy } from "./policy.ts";

const account = "111111111111";
const other = "222222222222";
const role: Principal = { type: "role", arn: `arn:aws:iam::${account}:role/worker`, account };
const queue = `arn:aws:sqs:eu-central-1:${account}:tasks`;

type Json = Record<string, unknown>;
type Case = {
  title: string;
  decision: "allowed" | string;
  identity?: Json[];
  ofResource?: Json[];
  resourceAccount?: string;
  resourceRules?: boolean;
  call?: Partial<Call>;
};

const allow = (more: Json = {}): Json => ({
  Effect: "Allow",
  Action: "sqs:SendMessage",
  Resource: queue,
  ...more,
});
const deny = (more: Json = {}): Json => allow({ Effect: "Deny", ...more });
const toRole = { Principal: { AWS: role.arn } };
const toAccount = { Principal: { AWS: `arn:aws:iam::${account}:root` } };
const nothing = "nothing in the role's policies or the resource's policy allows it";

const forAudiences = {
  "ForAllValues:StringEquals": { "sts:IdentityTokenAudience": ["far", "farther"] },
  Null: { "sts:IdentityTokenAudience": "false" },
};

const cases: Case[] = [
  { title: "no policy", decision: nothing },
  { title: "its own policy", identity: [allow()], decision: "allowed" },
  {
    title: "an action in another letter case",
    identity: [allow({ Action: "SQS:sendmessage" })],
    decision: "allowed",
  },
  {
    title: "another action",
    identity: [allow({ Action: "sqs:ReceiveMessage" })],
    decision: nothing,
  },
  {
    title: "a wildcard of actions",
    identity: [allow({ Action: ["sqs:Send*"] })],
    decision: "allowed",
  },
  { title: "another resource", identity: [allow({ Resource: `${queue}-2` })], decision: nothing },
  {
    title: "a wildcard of resources",
    identity: [allow({ Resource: `${queue.slice(0, -3)}???` })],
    decision: "allowed",
  },
  {
    title: "a denial beside a permission",
    identity: [allow(), deny()],
    decision: "a Deny of Role",
  },
  { title: "only the resource's policy", ofResource: [allow(toRole)], decision: "allowed" },
  {
    title: "the resource's policy for its account",
    ofResource: [allow(toAccount)],
    decision: nothing,
  },
  {
    title: "another account's resource and only its own policy",
    identity: [allow()],
    resourceAccount: other,
    decision: "nothing in the resource's policy allows it",
  },
  {
    title: "another account's resource and only that one's policy",
    ofResource: [allow(toRole)],
    resourceAccount: other,
    decision: "nothing in the role's policies allows it",
  },
  {
    title: "another account's resource and both policies",
    identity: [allow()],
    ofResource: [allow(toRole)],
    resourceAccount: other,
    decision: "allowed",
  },
  {
    title: "another account's resource whose policy names the caller's account",
    identity: [allow()],
    ofResource: [allow(toAccount)],
    resourceAccount: other,
    decision: "allowed",
  },
  {
    title: "a key policy that does not name the account",
    identity: [allow()],
    ofResource: [],
    resourceRules: true,
    decision: "nothing in the resource's policy allows it",
  },
  {
    title: "a key policy that delegates to the account",
    identity: [allow()],
    ofResource: [allow(toAccount)],
    resourceRules: true,
    decision: "allowed",
  },
  {
    title: "a denial without TLS, with TLS",
    identity: [allow()],
    ofResource: [
      deny({ Principal: { AWS: "*" }, Condition: { Bool: { "aws:SecureTransport": "false" } } }),
    ],
    decision: "allowed",
  },
  {
    title: "a denial without TLS, without TLS",
    identity: [allow()],
    ofResource: [deny({ Principal: "*", Condition: { Bool: { "aws:SecureTransport": "false" } } })],
    call: { context: { "aws:securetransport": "false" } },
    decision: "a Deny of Queue",
  },
  {
    title: "a condition on a key that the call does not have",
    identity: [allow({ Condition: { StringEquals: { "aws:SourceAccount": account } } })],
    decision: nothing,
  },
  ...[
    { title: "a token for an audience of the list", audiences: ["far"], decision: "allowed" },
    {
      title: "a token for two audiences of the list",
      audiences: ["far", "farther"],
      decision: "allowed",
    },
    {
      title: "a token for an audience outside the list",
      audiences: ["far", "elsewhere"],
      decision: nothing,
    },
    { title: "a token without an audience", audiences: undefined, decision: nothing },
  ].map(({ audiences, ...rest }) => ({
    ...rest,
    identity: [allow({ Condition: forAudiences })],
    call: { context: audiences === undefined ? {} : { "sts:identitytokenaudience": audiences } },
  })),
  {
    title: "a token without an audience and without a condition that requires one",
    identity: [
      allow({
        Condition: { "ForAllValues:StringEquals": forAudiences["ForAllValues:StringEquals"] },
      }),
    ],
    decision: "allowed",
  },
  {
    title: "several values for a single-valued operator",
    identity: [allow({ Condition: { StringEquals: { "sts:IdentityTokenAudience": "far" } } })],
    call: { context: { "sts:identitytokenaudience": ["far"] } },
    decision: nothing,
  },
  ...[
    { seconds: "300", decision: "allowed" },
    { seconds: "60", decision: "allowed" },
    { seconds: "301", decision: nothing },
  ].map(({ seconds, decision }) => ({
    title: `${seconds} seconds for a maximum of 300`,
    identity: [allow({ Condition: { NumericLessThanEquals: { "sts:DurationSeconds": 300 } } })],
    call: { context: { "sts:durationseconds": seconds } },
    decision,
  })),
  {
    title: "a service that the resource's policy names",
    ofResource: [allow({ Principal: { Service: "events.amazonaws.com" } })],
    call: { principal: { type: "service", service: "events.amazonaws.com" } },
    decision: "allowed",
  },
  {
    title: "a service for another source",
    ofResource: [
      allow({
        Principal: { Service: "events.amazonaws.com" },
        Condition: { ArnLike: { "aws:SourceArn": "arn:aws:events:*:*:rule/a*" } },
      }),
    ],
    call: {
      principal: { type: "service", service: "events.amazonaws.com" },
      context: { "aws:sourcearn": `arn:aws:events:eu-central-1:${account}:rule/b` },
    },
    decision: "nothing in the resource's policy allows it",
  },
];

function judge({
  identity = [],
  ofResource = [],
  call,
  resourceAccount = account,
  resourceRules = false,
}: Case) {
  return decide({
    call: {
      principal: role,
      action: "sqs:SendMessage",
      resource: queue,
      context: { "aws:securetransport": "true" },
      ...call,
    },
    identity: parsePolicy({ document: { Statement: identity }, source: "Role" }),
    ofResource: parsePolicy({ document: { Statement: ofResource }, source: "Queue" }),
    resourceAccount,
    resourceRules,
  });
}

describe("the decision about a call", () => {
  it.each(cases)("decides as IAM does for $title: $decision", (example) => {
    const decision = judge(example);
    expect(decision.allowed ? "allowed" : decision.why).toBe(example.decision);
  });

  it.each([
    { title: "an operator", condition: { NumericLessThan: { "aws:SourceAccount": "1" } } },
    { title: "a negated operator", condition: { StringNotEquals: { "aws:SourceAccount": "1" } } },
    {
      title: "a set operator",
      condition: { "ForAnyValue:StringEquals": { "aws:SourceAccount": "1" } },
    },
    { title: "a key", condition: { StringEquals: { "aws:Unheard": "1" } } },
  ])("refuses to guess $title that it does not know", ({ condition }) => {
    expect(() =>
      judge({ title: "", decision: "", identity: [allow({ Condition: condition })] }),
    ).toThrow("not known");
  });

  it("refuses to guess a field that it does not know", () => {
    for (const field of ["NotPrincipal", "NotAction", "NotResource"])
      expect(() =>
        judge({ title: "", decision: "", ofResource: [allow({ [field]: "*" })] }),
      ).toThrow(field);
  });
});

describe("wildcards", () => {
  it("matches dots and brackets literally", () => {
    expect(matches({ pattern: "a.c[1]*", text: "a.c[1]d" })).toBe(true);
    expect(matches({ pattern: "a.c", text: "abc" })).toBe(false);
  });

  it("matches a wildcard of an ARN across colons only in the resource", () => {
    expect(
      matchesArn({ pattern: "arn:aws:sns:*:topic", arn: "arn:aws:sns:eu-central-1:1:topic" }),
    ).toBe(false);
    expect(
      matchesArn({
        pattern: "arn:aws:logs:*:*:*",
        arn: "arn:aws:logs:eu-central-1:1:log-group:a:*",
      }),
    ).toBe(true);
  });
});
