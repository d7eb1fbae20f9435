/** The buckets of the templates: what is put there and read there, each in its own region. */
import { createS3Double, type S3Double, type S3Object } from "../../doubles/aws/s3.ts";
import type { Dependencies } from "../dependencies.ts";
import type { Resolver } from "../template/resolve.ts";
import { awsFailure } from "./failure.ts";
import type { Backend } from "./gateway.ts";

export type Buckets = {
  backend: Backend;
  /** What lies in all of them, by bucket and key. */
  objects(): [string, S3Object][];
};

export function createBuckets({
  resolver,
  callerOf,
  onProblem,
}: {
  resolver: Resolver;
  callerOf: Dependencies["callerOf"];
  onProblem: (problem: string) => void;
}): Buckets {
  const credentialsOf = (accessKeyId: string) => callerOf(accessKeyId)?.credentials;
  const doubles = new Map<string, S3Double>();
  for (const bucket of resolver.resources("AWS::S3::Bucket")) {
    const name = resolver.ref(bucket);
    doubles.set(name, createS3Double({ buckets: [name], region: bucket.stack.region, credentialsOf }));
  }
  return {
    async backend({ call: { resources, action }, received, caller }) {
      const name = bucketOf(resources[0] ?? "");
      const double = doubles.get(name);
      if (double === undefined) {
        onProblem(`${caller.name} asked for ${action} of the bucket ${name}, which no template has.`);
        return awsFailure({ service: "s3", name: "NoSuchBucket" });
      }
      const response = await double.handle(received);
      for (const problem of double.problems.splice(0))
        onProblem(`${name} refused ${action} of ${caller.name}: ${problem}.`);
      return response;
    },
    objects: () => [...doubles.values()].flatMap(({ objects }) => [...objects]),
  };
}

/** Of the ARN of an object. */
function bucketOf(arn: string): string {
  return (arn.split(":::")[1] ?? "").split("/")[0] ?? "";
}
