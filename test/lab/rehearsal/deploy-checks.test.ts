import { describe, expect, it } from "@jest/globals";
import { alarmProblems, reservationProblems, wiringProblems } from "./deploy-checks.ts";
import { collectPolicies } from "./iam/policies.ts";
import { newAccountLimit } from "./lambda/concurrency.ts";
import { createSample, near, type Resources, sampleFunction, sampleRole } from "./sample.ts";
import { eventSourcesOf, functionsOf, type LambdaFunction } from "./template/wiring.ts";

function open(resources: Resources) {
  return createSample({ stacks: [{ place: near, resources }] });
}

function check(resources: Resources): string[] {
  const { assembly, resolver } = open(resources);
  const functions = functionsOf({ assembly, resolver });
  const policies = collectPolicies({ resolver });
  return wiringProblems({ resolver, policies, functions, sources: eventSourcesOf({ resolver }) });
}

function withVisibility(VisibilityTimeout: number | undefined): Resources {
  const fn = sampleFunction();
  return {
    Role: sampleRole(),
    Worker: {
      Type: "AWS::Lambda::Function",
      Properties: { ...fn?.Properties, Runtime: "nodejs24.x", Timeout: 20 },
    },
    Tasks: {
      Type: "AWS::SQS::Queue",
      Properties: VisibilityTimeout === undefined ? {} : { VisibilityTimeout },
    },
    Source: {
      Type: "AWS::Lambda::EventSourceMapping",
      Properties: {
        EventSourceArn: { "Fn::GetAtt": ["Tasks", "Arn"] },
        FunctionName: { Ref: "Worker" },
      },
    },
  };
}

describe("a template that cannot be deployed", () => {
  it("refuses a queue that hides messages for less than six times the function's time-out", () => {
    expect(check(withVisibility(120))).toEqual([]);
    expect(check(withVisibility(119))).toEqual([
      "Sample0/Tasks: its VisibilityTimeout of 119 s is below 120 s, six times the time-out of Sample0/Worker.",
    ]);
    expect(check(withVisibility(undefined))).toEqual([
      expect.stringContaining("of 30 s is below 120 s"),
    ]);
  });

  const named = (name: string) => ({ "Fn::Sub": `arn:aws:iam::\${AWS::AccountId}:role/${name}` });

  it.each([
    ["as a principal", (name: string) => ({ Principal: { AWS: named(name) } })],
    [
      "by a condition",
      (name: string) => ({
        Principal: { AWS: { "Fn::Sub": `arn:aws:iam::\${AWS::AccountId}:root` } },
        Condition: { ArnEquals: { "aws:PrincipalArn": named(name) } },
      }),
    ],
  ])("refuses a policy that names a role that does not exist %s", (_how, naming) => {
    const key = (name: string): Resources => ({
      Caller: sampleRole([], "verification"),
      Key: {
        Type: "AWS::KMS::Key",
        Properties: {
          KeyPolicy: {
            Statement: [
              {
                Effect: "Allow",
                Action: "kms:*",
                Resource: "*",
                ...naming(name),
              },
            ],
          },
        },
      },
    });
    expect(check(key("verification"))).toEqual([]);
    expect(check(key("verifier"))).toEqual([
      expect.stringMatching(/^Sample0\/Key names the principal .*role\/verifier, which no/),
    ]);
  });
});

describe("an alarm", () => {
  const alarm = (actions: unknown[]): Resources => ({
    Dead: { Type: "AWS::SQS::Queue" },
    Topic: { Type: "AWS::SNS::Topic" },
    Alarm: {
      Type: "AWS::CloudWatch::Alarm",
      Properties: {
        Namespace: "AWS/SQS",
        MetricName: "ApproximateNumberOfMessagesVisible",
        Dimensions: [{ Name: "QueueName", Value: { "Fn::GetAtt": ["Dead", "QueueName"] } }],
        Threshold: 0,
        ComparisonOperator: "GreaterThanThreshold",
        AlarmActions: actions,
      },
    },
  });
  const allowed: Resources = {
    TopicPolicy: {
      Type: "AWS::SNS::TopicPolicy",
      Properties: {
        Topics: [{ Ref: "Topic" }],
        PolicyDocument: {
          Statement: [
            {
              Effect: "Allow",
              Action: "sns:Publish",
              Resource: { Ref: "Topic" },
              Principal: { Service: "cloudwatch.amazonaws.com" },
            },
          ],
        },
      },
    },
  };

  it.each([
    { title: "no topic", resources: alarm([]), problem: "Sample0/Alarm tells nobody" },
    {
      title: "a topic without access",
      resources: alarm([{ Ref: "Topic" }]),
      problem: "Sample0/Alarm cannot sns:Publish",
    },
    {
      title: "a topic with access",
      resources: { ...alarm([{ Ref: "Topic" }]), ...allowed },
      problem: undefined,
    },
  ])("checks whether an alarm notifies somebody: $title", ({ resources, problem }) => {
    const { resolver, authority } = open(resources);
    const [found] = resolver.resources("AWS::CloudWatch::Alarm");
    if (found === undefined) throw new Error("unreachable");
    const problems = alarmProblems({ alarm: found, resolver, authority });
    expect(problems).toEqual(problem === undefined ? [] : [expect.stringContaining(problem)]);
  });
});

describe("a reservation", () => {
  it.each([
    { limit: newAccountLimit, counts: [1], problems: 1 },
    { limit: 1000, counts: [900], problems: 0 },
    { limit: 1000, counts: [500, 401], problems: 2 },
    { limit: newAccountLimit, counts: [undefined], problems: 0 },
  ])(
    "reports $problems deploy problems for reservations of $counts in an account of $limit",
    ({ limit, counts, problems }) => {
      const functions = counts.map(
        (count, index) =>
          ({
            label: `f${index}`,
            account: near.account,
            reservedConcurrency: count,
          }) as LambdaFunction,
      );
      expect(reservationProblems({ functions, limit })).toHaveLength(problems);
    },
  );
});
