SELECT control_plane, sum(bytes_same)::BIGINT AS bytes_same, sum(bytes)::BIGINT AS bytes,
    round(100 * sum(bytes_same) / sum(bytes), 1) AS percent
FROM streams
WHERE type IS NOT NULL{filters}
GROUP BY control_plane
ORDER BY bytes_same DESC, control_plane;
