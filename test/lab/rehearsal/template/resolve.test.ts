import { describe, expect, it } from "@jest/globals";
import type { Assembly } from "./assembly.ts";
import { createResolver } from "./resolve.ts";

const here = { account: "111111111111", region: "eu-central-1" };
const there = { account: "222222222222", region: "eu-central-1" };

type Resources = Record<string, { Type: string; Properties?: Record<string, unknown> }>;

/** Two stacks in two accounts; `properties` are those of a resource in the first. */
function resolve({ properties, resources = {} }: { properties: unknown; resources?: Resources }) {
  const template = (all: Resources, Outputs = {}) => ({
    Parameters: { Greeting: { Default: "hello" } },
    Resources: Object.fromEntries(
      Object.entries(all).map(([id, { Type, Properties = {} }]) => [id, { Type, Properties }]),
    ),
    Outputs,
  });
  const assembly: Assembly = {
    stacks: [
      {
        name: "Near",
        ...here,
        template: template({
          Tasks: { Type: "AWS::SQS::Queue" },
          Subject: { Type: "Any", Properties: { value: properties } },
          ...resources,
        }),
      },
      {
        name: "Far",
        ...there,
        template: template(
          { Keep: { Type: "AWS::DynamoDB::Table" } },
          { Name: { Value: { Ref: "Keep" } } },
        ),
      },
    ],
    assetFolder: () => "",
  };
  const [subject] = createResolver({ assembly }).resources("Any");
  return subject?.properties.value;
}

const queueName = /^Near-Tasks-[0-9a-f]{12}$/;

describe("an intrinsic function of a template", () => {
  it("resolves a queue's address and ARN to the same name in its account", () => {
    const value = resolve({
      properties: [{ Ref: "Tasks" }, { "Fn::GetAtt": ["Tasks", "Arn"] }],
    }) as string[];
    const name = value[1]?.split(":").at(-1) ?? "";
    expect(name).toMatch(queueName);
    expect(value).toEqual([
      `https://sqs.eu-central-1.amazonaws.com/111111111111/${name}`,
      `arn:aws:sqs:eu-central-1:111111111111:${name}`,
    ]);
  });

  it.each([
    {
      title: "Fn::Join",
      properties: { "Fn::Join": ["-", ["a", { Ref: "AWS::Region" }]] },
      value: "a-eu-central-1",
    },
    {
      title: "Fn::Sub",
      properties: { "Fn::Sub": `\${AWS::AccountId} \${Greeting}` },
      value: "111111111111 hello",
    },
    {
      title: "AWS::NoValue",
      properties: { kept: 1, gone: { Ref: "AWS::NoValue" } },
      value: { kept: 1 },
    },
    { title: "a parameter", properties: { Ref: "Greeting" }, value: "hello" },
  ])("resolves $title", ({ properties, value }) => {
    expect(resolve({ properties })).toEqual(value);
  });

  it("resolves Fn::GetStackOutput of another account's stack", () => {
    const properties = { "Fn::GetStackOutput": { StackName: "Far", OutputName: "Name" } };
    expect(resolve({ properties })).toMatch(/^Far-Keep-/);
  });

  it.each([
    { title: "an intrinsic", properties: { "Fn::Cidr": [] }, problem: "Fn::Cidr is not known" },
    { title: "a type", properties: { Ref: "Subject" }, problem: "Subject is a Any" },
    {
      title: "an attribute",
      properties: { "Fn::GetAtt": ["Tasks", "Colour"] },
      problem: "does not know Colour of Tasks",
    },
    { title: "a resource", properties: { Ref: "Nothing" }, problem: "no resource Nothing" },
    {
      title: "an output",
      properties: { "Fn::GetStackOutput": { StackName: "Far", OutputName: "No" } },
      problem: "no output No of Far",
    },
  ])("refuses to guess $title that it does not know", ({ properties, problem }) => {
    expect(() => resolve({ properties })).toThrow(problem);
  });
});
