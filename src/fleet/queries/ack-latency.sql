SELECT control_plane, type, count(*) AS verdicts,
    quantile_disc(latency_ns, 0.5) / 1e6 AS p50_ms,
    quantile_disc(latency_ns, 0.99) / 1e6 AS p99_ms
FROM verdicts
WHERE verdict IN ('acked', 'refused') AND latency_ns IS NOT NULL{filters}
GROUP BY control_plane, type
ORDER BY p99_ms DESC, control_plane, type;
