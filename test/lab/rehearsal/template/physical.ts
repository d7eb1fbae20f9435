/** The values of Ref and Fn::GetAtt, as CloudFormation makes them: names of stack and logical id, and the ARNs that follow. */
import { createHash } from "node:crypto";

export type Place = { stackName: string; account: string; region: string; logicalId: string };

type Properties = Record<string, unknown>;
type Naming = Place & {
  /** Returns the name that the template sets, or one as CloudFormation makes them, of at most `maxLength`. */
  named(property: string, maxLength?: number): string;
  properties: Properties;
};
type Identity = { ref: string; attributes: Record<string, string> };

/** `properties` has all intrinsics resolved. Returns undefined for a type that the rehearsal does not know. */
export function identityOf({
  type,
  place,
  properties,
}: {
  type: string;
  place: Place;
  properties: Properties;
}): Identity | undefined {
  const make = makers[type];
  const named = (property: string, maxLength = 80) => {
    const givenName = properties[property];
    return typeof givenName === "string" ? givenName : generatedName({ ...place, maxLength });
  };
  return make?.({ ...place, properties, named });
}

function generatedName({ stackName, logicalId, maxLength }: Place & { maxLength: number }): string {
  const random = digest(stackName, logicalId).slice(0, 12);
  return `${`${stackName}-${logicalId}`.slice(0, maxLength - 13)}-${random}`;
}

function digest(...parts: string[]): string {
  return createHash("sha256").update(parts.join("/")).digest("hex");
}

function arn(service: string, { region, account }: Place, resource: string): string {
  return `arn:aws:${service}:${region}:${account}:${resource}`;
}

const makers: Record<string, (naming: Naming) => Identity> = {
  "AWS::SQS::Queue": (at) => {
    const name = at.named("QueueName");
    const url = `https://sqs.${at.region}.amazonaws.com/${at.account}/${name}`;
    return { ref: url, attributes: { QueueUrl: url, QueueName: name, Arn: arn("sqs", at, name) } };
  },
  "AWS::DynamoDB::Table": (at) => {
    const name = at.named("TableName", 255);
    return { ref: name, attributes: { Arn: arn("dynamodb", at, `table/${name}`) } };
  },
  "AWS::Lambda::Function": (at) => {
    const name = at.named("FunctionName", 64);
    return { ref: name, attributes: { Arn: arn("lambda", at, `function:${name}`) } };
  },
  "AWS::Lambda::Alias": (at) => {
    const fn = String(at.properties.FunctionName).split(":").at(-1);
    const aliasArn = arn("lambda", at, `function:${fn}:${String(at.properties.Name)}`);
    return { ref: aliasArn, attributes: { AliasArn: aliasArn } };
  },
  "AWS::Lambda::Url": (at) => {
    const url = `https://${digest(at.stackName, at.logicalId).slice(0, 32)}.lambda-url.${at.region}.on.aws/`;
    const functionArn = String(at.properties.TargetFunctionArn);
    return { ref: functionArn, attributes: { FunctionUrl: url, FunctionArn: functionArn } };
  },
  "AWS::IAM::Role": (at) => {
    const name = at.named("RoleName", 64);
    const path = typeof at.properties.Path === "string" ? at.properties.Path : "/";
    return {
      ref: name,
      attributes: { Arn: `arn:aws:iam::${at.account}:role${path}${name}`, RoleId: `AROA${name}` },
    };
  },
  "AWS::KMS::Key": (at) => {
    const hex = digest(at.stackName, at.logicalId);
    const id = [
      hex.slice(0, 8),
      hex.slice(8, 12),
      hex.slice(12, 16),
      hex.slice(16, 20),
      hex.slice(20, 32),
    ].join("-");
    return { ref: id, attributes: { Arn: arn("kms", at, `key/${id}`), KeyId: id } };
  },
  // The ARN of a bucket has no account and no region, and its name no capitals.
  "AWS::S3::Bucket": (at) => {
    const name = at.named("BucketName", 63).toLowerCase();
    return { ref: name, attributes: { Arn: `arn:aws:s3:::${name}` } };
  },
  "AWS::S3::BucketPolicy": short,
  "AWS::SSM::Parameter": (at) => {
    const name = at.named("Name", 80);
    return {
      ref: name,
      attributes: { Type: String(at.properties.Type), Value: String(at.properties.Value) },
    };
  },
  "AWS::SNS::Topic": (at) => {
    const name = at.named("TopicName", 80);
    const topicArn = arn("sns", at, name);
    return { ref: topicArn, attributes: { TopicArn: topicArn, TopicName: name } };
  },
  "AWS::Logs::LogGroup": (at) => {
    const name = at.named("LogGroupName", 120);
    return { ref: name, attributes: { Arn: arn("logs", at, `log-group:${name}:*`) } };
  },
  "AWS::ApiGatewayV2::Api": (at) => {
    const id = digest(at.stackName, at.logicalId).slice(0, 10);
    const endpoint = `https://${id}.execute-api.${at.region}.amazonaws.com`;
    return { ref: id, attributes: { ApiId: id, ApiEndpoint: endpoint } };
  },
  "AWS::ApiGatewayV2::Integration": short,
  "AWS::ApiGatewayV2::Route": short,
  "AWS::ApiGatewayV2::Stage": (at) => ({ ref: String(at.properties.StageName), attributes: {} }),
  "AWS::CloudWatch::Alarm": (at) => {
    const name = at.named("AlarmName", 255);
    return { ref: name, attributes: { Arn: arn("cloudwatch", at, `alarm:${name}`) } };
  },
  "AWS::CloudWatch::Dashboard": (at) => ({ ref: at.named("DashboardName"), attributes: {} }),
  "AWS::BedrockAgentCore::Runtime": (at) => {
    const id = `${String(at.properties.AgentRuntimeName)}-${digest(at.stackName, at.logicalId).slice(0, 10)}`;
    const runtimeArn = arn("bedrock-agentcore", at, `runtime/${id}`);
    return {
      ref: runtimeArn,
      attributes: { AgentRuntimeArn: runtimeArn, AgentRuntimeId: id, AgentRuntimeVersion: "1" },
    };
  },
  "AWS::BedrockAgentCore::RuntimeEndpoint": (at) => {
    const { AgentRuntimeId: runtime, Name: name } = at.properties;
    const endpointArn = arn(
      "bedrock-agentcore",
      at,
      `runtime/${String(runtime)}/runtime-endpoint/${String(name)}`,
    );
    const runtimeArn = arn("bedrock-agentcore", at, `runtime/${String(runtime)}`);
    return {
      ref: endpointArn,
      attributes: {
        AgentRuntimeEndpointArn: endpointArn,
        AgentRuntimeArn: runtimeArn,
        Id: String(name),
      },
    };
  },
};

function short({ stackName, logicalId }: Naming): Identity {
  return { ref: digest(stackName, logicalId).slice(0, 7), attributes: {} };
}
