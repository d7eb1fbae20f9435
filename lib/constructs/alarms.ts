/** Alarms that someone hears of: each has the zone's topic as its action. */
import { Stack } from "aws-cdk-lib";
import { Alarm, ComparisonOperator, type IMetric, TreatMissingData } from "aws-cdk-lib/aws-cloudwatch";
import { SnsAction } from "aws-cdk-lib/aws-cloudwatch-actions";
import { PolicyStatement, ServicePrincipal } from "aws-cdk-lib/aws-iam";
import type { Key } from "aws-cdk-lib/aws-kms";
import { Topic } from "aws-cdk-lib/aws-sns";
import { EmailSubscription } from "aws-cdk-lib/aws-sns-subscriptions";
import type { Construct } from "constructs";
import { acknowledge } from "./acknowledge.ts";

/** Adds an alarm above `threshold` in each of `periods` (one), and gives the metric back for whoever draws it. */
export type AddAlarm = (
  id: string,
  alarm: { metric: IMetric; threshold: number; periods?: number; what: string },
) => IMetric;

export function createAlarms(scope: Construct, { key, email }: { key: Key; email: string | undefined }): AddAlarm {
  const topic = new Topic(scope, "Alarms", { masterKey: key, enforceSSL: true });
  const fromHere = {
    principals: [new ServicePrincipal("cloudwatch.amazonaws.com")],
    conditions: { StringEquals: { "aws:SourceAccount": Stack.of(scope).account } },
  };
  // CloudWatch publishes to an encrypted topic only where the key lets it.
  key.addToResourcePolicy(
    new PolicyStatement({ ...fromHere, actions: ["kms:Decrypt", "kms:GenerateDataKey*"], resources: ["*"] }),
  );
  // The policy that demands TLS stands in the place of the one by which a topic lets in its own account.
  topic.addToResourcePolicy(
    new PolicyStatement({ ...fromHere, actions: ["sns:Publish"], resources: [topic.topicArn] }),
  );
  if (email !== undefined) {
    acknowledge(topic.addSubscription(new EmailSubscription(email)), {
      findings: ["Serverless-SNSRedrivePolicy"],
      reason: "A mail that does not arrive is no message to be kept: the alarm itself shows in CloudWatch.",
    });
  }
  const action = new SnsAction(topic);
  return (id, { metric, threshold, periods = 1, what }) => {
    new Alarm(scope, id, {
      metric,
      threshold,
      evaluationPeriods: periods,
      comparisonOperator: ComparisonOperator.GREATER_THAN_THRESHOLD,
      treatMissingData: TreatMissingData.NOT_BREACHING,
      alarmDescription: what,
    }).addAlarmAction(action);
    return metric;
  };
}
