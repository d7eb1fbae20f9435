# The Execution zone as an image: a few files and Node, without a shell, a package manager or root.
#
#   docker build --build-arg CONFIG=sekisho.config.json -t sekisho-execution .
#
# The agent and the `execution` section of CONFIG are built in. `sekisho execution bundle --help` lists the variables that the
# container reads, and docs/how-to/release.md explains the image.

# Renovate adds the digest of each tag and updates both (renovate.json). Until its first run, give a digest by --build-arg where a
# build must be repeatable.
ARG NODE_IMAGE=node:24.21.0-trixie-slim
ARG RUNTIME_IMAGE=gcr.io/distroless/nodejs24-debian13:nonroot

# On the builder's own processor, because the result is JavaScript.
FROM --platform=$BUILDPLATFORM ${NODE_IMAGE} AS build
WORKDIR /build
COPY package.json package-lock.json .npmrc ./
COPY contracts/package.json contracts/
COPY lambdas/runtime/package.json lambdas/runtime/
COPY lambdas/config/package.json lambdas/config/
COPY lambdas/execution/package.json lambdas/execution/
COPY lambdas/verification/package.json lambdas/verification/
COPY lib/cdk/package.json lib/cdk/
COPY lib/conformance/package.json lib/conformance/
COPY lib/local/package.json lib/local/
COPY lib/cli/package.json lib/cli/
RUN npm ci
COPY . .
ARG CONFIG=sekisho.config.json
RUN node bin/sekisho.mjs execution bundle --config "$CONFIG" --out /out
RUN node bin/release/sbom.ts "$CONFIG" /out/sbom.cdx.json
RUN mkdir /data

FROM ${RUNTIME_IMAGE}
ARG VERSION=""
ARG REVISION=""
ARG CREATED=""
LABEL org.opencontainers.image.title="sekisho-execution" \
      org.opencontainers.image.description="The Execution zone of Sekisho: runs an agent for tasks that come from Slack" \
      org.opencontainers.image.version="$VERSION" \
      org.opencontainers.image.revision="$REVISION" \
      org.opencontainers.image.created="$CREATED"
COPY --from=build /out/ /app/
# The store is in the working directory, the only writable place. Mount a volume there to keep it.
COPY --from=build --chown=65532:65532 /data /data
VOLUME ["/data"]
WORKDIR /data
# The image's user "nonroot" as a number, because Kubernetes can only check numbers.
USER 65532:65532
ENV NODE_ENV=production
EXPOSE 8080
HEALTHCHECK --interval=30s --timeout=5s --start-period=5s CMD ["/nodejs/bin/node", "/app/server.cjs", "--healthcheck"]
# The base image's entrypoint is node itself, so SIGTERM reaches it.
CMD ["/app/server.cjs"]
