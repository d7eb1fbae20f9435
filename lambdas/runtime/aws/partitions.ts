/** The partitions of AWS. Each has accounts of its own, its name in every ARN, and a DNS suffix. */
type Partition = { name: string; dnsSuffix: string };

const partitions: readonly (Partition & { prefix: string })[] = [
  { prefix: "cn-", name: "aws-cn", dnsSuffix: "amazonaws.com.cn" },
  { prefix: "us-gov-", name: "aws-us-gov", dnsSuffix: "amazonaws.com" },
  { prefix: "eusc-", name: "aws-eusc", dnsSuffix: "amazonaws.eu" },
  { prefix: "us-iso-", name: "aws-iso", dnsSuffix: "c2s.ic.gov" },
  { prefix: "us-isob-", name: "aws-iso-b", dnsSuffix: "sc2s.sgov.gov" },
  { prefix: "eu-isoe-", name: "aws-iso-e", dnsSuffix: "cloud.adc-e.uk" },
  { prefix: "us-isof-", name: "aws-iso-f", dnsSuffix: "csp.hci.ic.gov" },
];

/** Returns the partition of a region, by the prefix of its name. A region without such a prefix belongs to the commercial partition. */
export function findPartition(region: string): Partition {
  const partition = partitions.find(({ prefix }) => region.startsWith(prefix));
  return partition ?? { name: "aws", dnsSuffix: "amazonaws.com" };
}
