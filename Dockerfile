FROM node:20-slim AS build
WORKDIR /app
COPY . .
RUN npm ci && npm prune --omit=dev --ignore-scripts

FROM node:20-slim
WORKDIR /app
ENV NODE_ENV=production HOST=0.0.0.0 LOG_FORMAT=json DATA_DIR=/data
COPY --from=build /app/package.json ./
COPY --from=build /app/node_modules ./node_modules
COPY --from=build /app/dist ./dist
COPY --from=build /app/migrations ./migrations
RUN mkdir /data && chown node /data
USER node
VOLUME /data
EXPOSE 4080
# Node itself is process 1, so that it gets the signal to stop. The flag: see "Deploy" in docs/operations.md.
CMD ["node", "--max-semi-space-size=32", "dist/main.js", "serve"]
