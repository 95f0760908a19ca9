# The base image. The digest decides, and the tag says what it is: docs/operations.md, "The container image".
ARG NODE_TAG=24.21.0-bookworm-slim
ARG NODE_DIGEST=sha256:d6aa754f16b3197301076f047b5def2f02ea1dbbc2ca920407d46d7ec7f87b20
FROM node:${NODE_TAG}${NODE_DIGEST:+@${NODE_DIGEST}} AS build
WORKDIR /app
COPY package.json package-lock.json ./
RUN npm ci --ignore-scripts --no-audit --no-fund
COPY . .
RUN npm run build && npm prune --omit=dev --ignore-scripts --no-audit --no-fund

FROM node:${NODE_TAG}${NODE_DIGEST:+@${NODE_DIGEST}}
WORKDIR /app
# DATA_VOLUME: without DATABASE_URL the service starts only where a volume is mounted at /data.
ENV NODE_ENV=production HOST=0.0.0.0 PORT=4080 LOG_FORMAT=json DATA_DIR=/data DATA_VOLUME=required
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY --from=build /app/migrations ./migrations
# A new volume gets the owner of the folder that it covers.
RUN install -d -o 1000 -g 1000 /data
# The user "node". A number, so that an orchestrator can tell that it is not root.
USER 1000:1000
EXPOSE 4080
HEALTHCHECK --interval=10s --timeout=3s --start-period=60s --retries=3 \
  CMD ["node", "-e", "fetch(`http://127.0.0.1:${process.env.PORT}/healthz`).then(({ ok }) => process.exit(ok ? 0 : 1), () => process.exit(1))"]
# Node itself is process 1, so that it gets the signal to stop. The flag: see "Deploy" in docs/operations.md.
CMD ["node", "--max-semi-space-size=32", "dist/main.js", "serve"]
