/** A runtime and credentials of nobody. */
export const runtimeArn =
  "arn:aws:bedrock-agentcore:eu-central-1:123456789012:runtime/agent_one-AbCdEf1234";
export const credentials = {
  accessKeyId: "AKIDEXAMPLE",
  secretAccessKey: "secret-of-nobody",
  sessionToken: "token-of-nobody",
};
