window.BENCHMARK_DATA = {
 "lastUpdate": 1700000000000,
 "repoUrl": "https://example.org/x",
 "entries": {
  "Rust Benchmark": [
   {
    "commit": {
     "id": "c0",
     "message": "m",
     "timestamp": "2024-01-01T00:00:00Z"
    },
    "date": 1700000000000,
    "tool": "cargo",
    "benches": [
     {
      "name": "decode",
      "value": "1.0",
      "unit": "ns/iter",
      "range": "\u00b1 3"
     }
    ]
   },
   {
    "commit": {
     "id": "c1",
     "message": "m",
     "timestamp": "2024-01-01T00:00:00Z"
    },
    "date": 1700000000001,
    "tool": "cargo",
    "benches": [
     {
      "name": "decode",
      "value": 1.01,
      "unit": "ns/iter",
      "range": "\u00b1 3"
     }
    ]
   },
   {
    "commit": {
     "id": "c2",
     "message": "m",
     "timestamp": "2024-01-01T00:00:00Z"
    },
    "date": 1700000000002,
    "tool": "cargo",
    "benches": [
     {
      "name": "decode",
      "value": 0.99,
      "unit": "ns/iter",
      "range": "\u00b1 3"
     }
    ]
   },
   {
    "commit": {
     "id": "c3",
     "message": "m",
     "timestamp": "2024-01-01T00:00:00Z"
    },
    "date": 1700000000003,
    "tool": "cargo",
    "benches": [
     {
      "name": "decode",
      "value": 1.0,
      "unit": "ns/iter",
      "range": "\u00b1 3"
     }
    ]
   },
   {
    "commit": {
     "id": "c4",
     "message": "m",
     "timestamp": "2024-01-01T00:00:00Z"
    },
    "date": 1700000000004,
    "tool": "cargo",
    "benches": [
     {
      "name": "decode",
      "value": 1.2,
      "unit": "ns/iter",
      "range": "\u00b1 3"
     }
    ]
   },
   {
    "commit": {
     "id": "c5",
     "message": "m",
     "timestamp": "2024-01-01T00:00:00Z"
    },
    "date": 1700000000005,
    "tool": "cargo",
    "benches": [
     {
      "name": "decode",
      "value": 1.21,
      "unit": "ns/iter",
      "range": "\u00b1 3"
     }
    ]
   },
   {
    "commit": {
     "id": "c6",
     "message": "m",
     "timestamp": "2024-01-01T00:00:00Z"
    },
    "date": 1700000000006,
    "tool": "cargo",
    "benches": [
     {
      "name": "decode",
      "value": 1.19,
      "unit": "ns/iter",
      "range": "\u00b1 3"
     }
    ]
   },
   {
    "commit": {
     "id": "c7",
     "message": "m",
     "timestamp": "2024-01-01T00:00:00Z"
    },
    "date": 1700000000007,
    "tool": "cargo",
    "benches": [
     {
      "name": "decode",
      "value": 1.2,
      "unit": "ns/iter",
      "range": "\u00b1 3"
     }
    ]
   }
  ]
 }
}
